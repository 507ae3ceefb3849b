"""Checks of references: missing files, files that nothing refers to, and cycles."""

from skillsv.api.lint import lint as lint_skill
from skillsv.model.skill import Severity


def test_a_path_into_a_folder_of_the_skill_must_exist(places):
    files = {
        "SKILL.md": "# Tea\n\nRun `scripts/boil.py`, then `python scripts/pour.py --slow`.\n",
        "scripts/boil.py": "print(1)\n",
    }
    assert places("dangling-path", files) == [("SKILL.md", 7)]


def test_a_path_into_a_usual_folder_must_exist_even_without_the_folder(places):
    text = "# Tea\n\nRun scripts/foo.py.\n\nRead `references/none.md`.\n\nEdit src/app.ts.\n"
    assert places("dangling-path", text) == [("SKILL.md", 7), ("SKILL.md", 9)]


def test_paths_of_a_single_file_are_not_checked(tmp_path):
    (tmp_path / "AGENTS.md").write_text("# Tea\n\nRun scripts/foo.py, see [x](../x.md).\n")
    codes = {finding.code for finding in lint_skill(tmp_path / "AGENTS.md")}
    assert not codes & {"dangling-path", "dangling-link"}


def test_links_out_of_the_skill_are_dangling(lint):
    files = {
        "SKILL.md": "# Tea\n\nSee [out](../other/x.md) and [in](notes/a.md).\n",
        "notes/a.md": "[up](../SKILL.md) [b](../notes/b.md)\n\n[gone](../notes/gone.md)\n",
        "notes/b.md": "B.\n",
    }
    findings = [finding for finding in lint(files) if finding.code == "dangling-link"]
    assert [(finding.file, finding.line) for finding in findings] == [("SKILL.md", 7), ("notes/a.md", 3)]
    assert "leaves the skill" in findings[0].message
    assert "leads nowhere" in findings[1].message


def test_dead_links_and_paths_in_headings_are_reported(lint):
    text = "# Tea [out](../x.md)\n\n## See [gone](notes/gone.md)\n\nBoil.\n\n## Run scripts/gone.py\n\n### [top](#none)\n\nx\n"
    findings = [(finding.code, finding.line) for finding in lint(text) if finding.code.startswith("dangling")]
    assert sorted(findings) == [
        ("dangling-link", 5),
        ("dangling-link", 7),
        ("dangling-link", 13),
        ("dangling-path", 11),
    ]


def test_footnotes_and_text_in_brackets_are_no_dangling_links(places):
    text = (
        "# Tea\n\nBoil it[^1], [P0] first.\n\n[^1]: Water only.\n\n[P0]: now and here\n\n[gone][g]\n\n[g]: notes/g.md\n"
    )
    assert places("dangling-link", text) == [("SKILL.md", 13)]


def test_paths_of_other_places_templates_and_examples_are_accepted(places):
    text = (
        "# Tea\n\nRun scripts/boil.py. Edit src/app.ts, /etc/scripts/x.py, https://a.b/scripts/x.py, ../scripts/x.py,\n"
        "scripts/<name>.py, scripts/*.py, scripts/{name}.py, ~/scripts/x.py, $HOME/x.py, my-scripts/x.py.\n"
        "For example `scripts/rotate.py`.\n\n```sh\nscripts/any.py\n```\n"
    )
    text = text.replace("scripts/any.py", "cat scripts/any.py > assets/out.txt  # no program")
    assert places("dangling-path", {"SKILL.md": text, "scripts/boil.py": "print(1)\n"}) == []


def test_a_program_that_fenced_shell_code_runs_must_exist(places):
    lines = [
        *["python scripts/gone.py --all", "python scripts/boil.py", "./scripts/lost.sh now", "uv run -m scripts.none"],
        *["# python scripts/comment.py", "python -m scripts.boil", "python -m http.server", "node scripts/build"],
    ]
    text = "# Tea\n\n```bash\n" + "\n".join(lines) + "\n```\n\n```python\nrun('scripts/else.py')\n```\n"
    files = {"SKILL.md": text, "scripts/boil.py": "print(1)\n"}
    assert places("dangling-path", files) == [("SKILL.md", 8), ("SKILL.md", 10), ("SKILL.md", 11)]


def test_a_path_may_be_relative_to_the_folder_of_its_file(places):
    files = {
        "SKILL.md": "# Tea\n\nSee guides/a.md.\n",
        "guides/a.md": "See `parts/b.md` and `guides/parts/b.md` and `guides/parts/c.md`.\n",
        "guides/parts/b.md": "B.\n",
    }
    assert places("dangling-path", files) == [("guides/a.md", 1)]


def test_a_dangling_link_is_reported_once(lint):
    files = {"SKILL.md": "# Tea\n\nSee [x](notes/gone.md) and notes/here.md.\n", "notes/here.md": "x\n"}
    assert [(finding.code, finding.line) for finding in lint(files)] == [("dangling-link", 7)]


def test_a_file_without_any_reference_is_reported(places):
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


def test_a_cycle_of_references_is_noted(lint):
    files = {
        "SKILL.md": "# Tea\n\nRun a.py.\n",
        "a.py": "import b\n",
        "b.py": "import a\n",
    }
    (finding,) = [finding for finding in lint(files) if finding.code == "cycle"]
    assert (finding.file, finding.severity) == ("a.py", Severity.NOTE)
    assert "b.py:1" in finding.message
