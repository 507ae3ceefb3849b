"""Files, paths, symbols, cycles and answers: what the parts of a skill get wrong about each other."""

import json
import re
from pathlib import Path

import skillsv.compile as compile_package
from skillsv.compile import CompileOptions
from skillsv.compile.lint import CHECKS, finding_titles, lint_skill
from skillsv.model.skill import Severity


def test_a_path_into_the_skills_own_folder_has_to_be_there(places):
    files = {
        "SKILL.md": "# Tea\n\nRun `scripts/boil.py`, then `python scripts/pour.py --slow`.\n",
        "scripts/boil.py": "print(1)\n",
    }
    assert places("dangling-path", files) == [("SKILL.md", 7)]


def test_a_path_into_a_folder_that_skills_usually_have_is_missed_with_the_whole_folder(places):
    text = "# Tea\n\nRun scripts/foo.py.\n\nRead `references/none.md`.\n\nEdit src/app.ts.\n"
    assert places("dangling-path", text) == [("SKILL.md", 7), ("SKILL.md", 9)]


def test_a_single_file_has_no_folders_to_miss(tmp_path):
    (tmp_path / "AGENTS.md").write_text("# Tea\n\nRun scripts/foo.py, see [x](../x.md).\n")
    found = {one.code for one in lint_skill(tmp_path / "AGENTS.md")}
    assert not found & {"dangling-path", "dangling-link"}


def test_links_that_leave_the_skill_lead_nowhere_for_an_agent_that_has_only_the_folder(lint):
    files = {
        "SKILL.md": "# Tea\n\nSee [out](../other/x.md) and [in](notes/a.md).\n",
        "notes/a.md": "[up](../SKILL.md) [b](../notes/b.md)\n\n[gone](../notes/gone.md)\n",
        "notes/b.md": "B.\n",
    }
    found = [one for one in lint(files) if one.code == "dangling-link"]
    assert [(one.file, one.line) for one in found] == [("SKILL.md", 7), ("notes/a.md", 3)]
    assert "leaves the skill" in found[0].message
    assert "leads nowhere" in found[1].message


def test_paths_of_other_places_templates_and_examples_are_left_alone(places):
    text = (
        "# Tea\n\nRun scripts/boil.py. Edit src/app.ts, /etc/scripts/x.py, https://a.b/scripts/x.py, ../scripts/x.py,\n"
        "scripts/<name>.py, scripts/*.py, scripts/{name}.py, ~/scripts/x.py, $HOME/x.py, my-scripts/x.py.\n"
        "For example `scripts/rotate.py`.\n\n```sh\nscripts/any.py\n```\n"
    )
    assert places("dangling-path", {"SKILL.md": text, "scripts/boil.py": "print(1)\n"}) == []


def test_a_path_is_also_read_from_the_folder_of_its_file(places):
    files = {
        "SKILL.md": "# Tea\n\nSee guides/a.md.\n",
        "guides/a.md": "See `parts/b.md` and `guides/parts/b.md` and `guides/parts/c.md`.\n",
        "guides/parts/b.md": "B.\n",
    }
    assert places("dangling-path", files) == [("guides/a.md", 1)]


def test_a_dangling_link_is_said_once(lint):
    files = {"SKILL.md": "# Tea\n\nSee [x](notes/gone.md) and notes/here.md.\n", "notes/here.md": "x\n"}
    assert [(one.code, one.line) for one in lint(files)] == [("dangling-link", 7)]


def test_a_file_that_nothing_leads_to_is_found(places):
    files = {
        "SKILL.md": "# Tea\n\nRead notes/a.md, the rule hot-water, everything in `guides/`, and `data/*.csv`.\n",
        "notes/a.md": "Go on to [b](b.md).\n",
        "notes/b.md": "B.\n",
        "notes/c.md": "Nobody reads this, although it names notes/d.md.\n",
        "notes/d.md": "D.\n",
        "rules/hot-water.md": "Hot.\n",
        "guides/deep/e.md": "E names f.txt\n",
        "data/t.csv": "1,2\n",
        "other/f.txt": "F.\n",
        "README.md": "For people.\n",
        "requirements.txt": "tea\n",
    }
    assert places("unreached-file", files) == [("notes/c.md", 1), ("notes/d.md", 1)]


def test_an_import_of_a_name_that_the_module_does_not_have_is_found(places):
    files = {
        "SKILL.md": "# Tea\n\n```python\nfrom scripts.pot import boil, pour\nfrom pot import LID\n```\n",
        "scripts/pot.py": "import os\nLID = 1\nif LID:\n    def boil(): ...\nelse:\n    from os import path as boil\n",
        "scripts/cup.py": "from pot import boil\nfrom .pot import spill\nfrom os import nothing\n",
    }
    assert places("missing-import", files) == [("SKILL.md", 8), ("scripts/cup.py", 2)]


def test_modules_that_cannot_be_judged_are_left_alone(places):
    files = {
        "SKILL.md": "# Tea\n\n```python\nfrom a import x\nfrom b import x\nfrom c import x\nfrom numpy import x\n```\n",
        "a.py": "from elsewhere import *\n",
        "b.py": "def __getattr__(name): ...\n",
        "c.py": "def (:\n",
    }
    assert places("missing-import", files) == []


def test_a_name_that_is_called_and_defined_nowhere_is_noted(places):
    files = {
        "SKILL.md": "# Tea\n\n```python\nwater = 1\nx = len(boil(water))\npour(cup, LID)\ncup.fill()\n```\n\n"
        "```python\nfrom kitchen import *\nwash(cup)\n```\n\n```python\nnot python(\n```\n",
        "scripts/pot.py": "def pour(cup, lid): ...\n",
    }
    assert places("undefined-symbol", files) == [("SKILL.md", 9), ("SKILL.md", 10)]
    more = files | {"notes.md": "```python\nLID = 1\n\ndef boil(x): ...\n```\n"}
    assert places("undefined-symbol", more) == []


def test_a_circle_of_references_is_noted(lint):
    files = {
        "SKILL.md": "# Tea\n\nSee [a](a.md).\n",
        "a.md": "See [b](b.md).\n",
        "b.md": "See [a](a.md).\n",
    }
    (found,) = [one for one in lint(files) if one.code == "cycle"]
    assert (found.file, found.severity) == ("a.md", Severity.NOTE)
    assert "b.md:1" in found.message


def test_answers_inside_the_skill_are_a_leak(lint):
    files = {
        "SKILL.md": "# Tea\n\nThe tests are in evals/evals.json.\n",
        "evals/evals.json": json.dumps({"answer": 42}),
        "evaluations/more.json": "{}",
        "tea.eval.yaml": "x: 1\n",
    }
    found = {one.code: one for one in lint(files)}
    assert found["evals-leak"].severity is Severity.WARNING
    assert "evals" not in found
    assert found["evals-named"].line == 7
    assert [one.file for one in lint(files) if one.code == "evals-lookalike"] == [
        "evaluations/more.json",
        "tea.eval.yaml",
    ]
    assert "evals-named" not in {
        one.code for one in lint({"SKILL.md": "# Tea\n\nPut evals/ beside it.\n"}, folder="tea2")
    }


def test_findings_come_in_order_each_once_and_the_same_every_time(lint):
    files = {"SKILL.md": "# Tea\n\n## A\n\n## B\n\n##C\n", "b.md": "```\nx\n", "a.md": "```\nx\n"}
    found = lint(files)
    keys = [(one.file != "SKILL.md", one.file, one.line) for one in found]
    assert keys == sorted(keys)
    assert len(set(found)) == len(found)
    assert found == lint(files)


def test_granularity_does_not_change_what_is_wrong_with_headings(lint):
    body = "# Tea\n\nBoil.\n\n## Cups\n\n## Pots\n\n- One.\n- Two.\n"
    by_size = [
        {(one.code, one.line) for one in lint(body, options=CompileOptions(granularity=size))}
        for size in ("block", "item", "section")
    ]
    assert by_size == [{("empty-heading", 9)}] * 3


def test_every_code_is_listed_once_with_a_title():
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert all(finding_titles()[code] for code in codes)


def test_what_the_compiler_finds_on_its_way_has_a_title_too():
    source = Path(compile_package.__file__).parent
    texts = [path.read_text() for path in source.rglob("*.py") if "lint" not in path.parts]
    codes = {code for text in texts for code in re.findall(r"(?:code=|_left_out\(|_note\()\"([a-z0-9-]+)\"", text)}
    assert len(codes) > 8
    assert codes <= set(finding_titles())


def test_messages_end_with_what_to_do(lint):
    files = {"SKILL.md": "# Tea\n\n## A\n\n##C\n\nRun scripts/x.py.\n\n```\nx\n", "scripts/y.py": "1\n"}
    found = lint(files, head="---\nname: Tea\nx: 1\n---\n")
    assert len(found) >= 7
    assert all(one.message.endswith(".") and ". " in one.message for one in found)
