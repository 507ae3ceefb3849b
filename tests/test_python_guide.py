"""The Python code of `docs/python.md` and of the README runs, and prints what stands below it."""

import contextlib
import io
import linecache
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.heavy
def test_every_block_runs_and_prints_what_stands_below_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count("```python") > 10
    names = {"__name__": "guide"}
    for number, block in enumerate(blocks):
        file = f"<python.md block {number}>"
        linecache.cache[file] = (len(block["code"]), None, block["code"].splitlines(keepends=True), file)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], file, "exec"), names)
        assert printed.getvalue() == (block["output"] or ""), block["code"]


def test_every_public_function_is_in_the_guide():
    import skillsv

    text = GUIDE.read_text(encoding="utf-8")
    functions = [name for name in skillsv.__all__ if name.islower() and name != "__version__"]
    assert [name for name in functions if f"sv.{name}" not in text] == []


def test_the_example_in_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-skill").mkdir()
    (tmp_path / "my-skill" / "SKILL.md").write_text("---\nname: my-skill\ndescription: Facts.\n---\n# Facts\n\n- one\n")
    (block,) = BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))
    names = {
        "tasks": [{"input": ("one", "two")[number % 2], "target": "yes"} for number in range(20)],
        "answer": lambda skill, task: "yes" if skill and task.input in skill.text else "no",
    }
    exec(block["code"], names)
    assert names["run"].complete
    assert names["proof"].met
