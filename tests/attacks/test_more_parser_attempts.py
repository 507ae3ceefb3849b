"""Twenty more inputs that are made to end or to stall a parser: Markdown, code blocks, TOML, JSON and names of files."""

import json

import pytest

import skillsv as sv
from skillsv.cli import run
from skillsv.errors import SkillSVError
from skillsv.tasks import load_tasks

N = 3_000

MARKDOWN = {
    "open links": "[" * N,
    "open images": "![" * N,
    "links in links": "[a](" * N,
    "emphasis": "*a _b " * N,
    "open code spans": "`" * N + " " + "``" * N,
    "quotes in quotes": ">" * 500 + " a",
    "lists in lists": "\n".join("  " * n + "- a" for n in range(300)),
    "tables": "|a" * N + "\n" + "|-" * N + "\n" + "|b" * N,
    "references": "".join(f"[a{n}]: b\n" for n in range(500)) + "[a1] " * N,
    "comments": "<!--" * N,
    "entities": "&#x41;" * N,
    "headings": "".join("#" * (1 + n % 6) + f" a{n}\n\n" for n in range(400)),
    "fences": "".join(f"```{'`' * n}\n" for n in range(100)),
}


@pytest.mark.parametrize("text", MARKDOWN.values(), ids=MARKDOWN)
def test_hostile_markdown_compiles_and_renders_as_it_is(text):
    skill = sv.compile(f"---\nname: x\ndescription: d\n---\n\n{text}\n")
    sv.lint(skill)
    assert text.strip() in sv.render(skill, keep="all").text


CODE = {
    "python brackets": ("python", "(" * N),
    "python strings": ("python", "f'{" * 200),
    "shell substitutions": ("bash", "$(" * N),
    "shell documents": ("bash", "".join(f"cat <<E{n}\n" for n in range(200))),
    "scripts": ("javascript", "${`" * 500),
}


@pytest.mark.parametrize(("language", "code"), CODE.values(), ids=CODE)
def test_hostile_code_compiles(language, code):
    skill = sv.compile(f"# A\n\n```{language}\n{code}\n```\n\nRun it.\n")
    assert sv.lint(skill) is not None
    assert code[:50] in sv.render(skill, keep="all").text


def test_deep_settings_are_one_sentence(tmp_path, capsys):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text("# A\n\nB.\n")
    (tmp_path / "skillsv.toml").write_text("a = " + "[" * 50_000)
    assert run(["plan", str(tmp_path / "tiny")]) == 2
    assert "an error in skillsv itself" not in capsys.readouterr().err


def test_deep_settings_of_a_harbor_task_are_one_sentence(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test.sh").write_text("true\n")
    (tmp_path / "instruction.md").write_text("Do it.\n")
    (tmp_path / "task.toml").write_text("a = " + "[" * 50_000)
    with pytest.raises(SkillSVError):
        load_tasks(tmp_path)


@pytest.mark.parametrize("text", ["[" * 50_000, json.dumps({"id": "t", "input": "?"})[:-1] + ', "a":' * 2000])
def test_hostile_tasks_are_one_sentence(tmp_path, text):
    (tmp_path / "tasks.jsonl").write_text(text)
    with pytest.raises(SkillSVError):
        load_tasks(tmp_path / "tasks.jsonl")
