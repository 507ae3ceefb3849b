import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from skillsv.cli import run
from skillsv.compiler import compile_skill
from skillsv.report.compiled_json import compiled_json

SKILL = """\
---
name: tea
description: Makes tea.
---
# Tea

Do this:

1. Boil the water, see [heat](notes/heat.md).
- Use a lid.
2. Pour.

<!-- KEEP -->
A kept region.

Of two paragraphs.
<!-- /KEEP -->
"""


@pytest.fixture
def tea(tmp_path):
    folder = tmp_path / "tea"
    (folder / "notes").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "notes/heat.md").write_text("# Heat\n\nNinety degrees.\n")
    return folder


def compiled(capsys, *arguments):
    assert run(["compile", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_outline_goes_to_stdout_in_plain_text(tea, capsys):
    assert run(["compile", str(tea)]) == 0
    printed = capsys.readouterr()
    assert "execution units" in printed.out
    assert "notes/heat.md" in printed.out
    assert "\x1b" not in printed.out
    assert printed.err == ""


def test_a_terminal_gets_the_same_text_in_colour(tea, capsys, monkeypatch):
    assert run(["compile", str(tea)]) == 0
    plain = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert run(["compile", str(tea)]) == 0
    coloured = capsys.readouterr().out
    assert "\x1b[" in coloured
    from rich.text import Text

    assert Text.from_ansi(coloured).plain.split() == plain.split()


def test_json_is_the_documented_form(tea, capsys):
    made = compiled(capsys, tea)
    assert made["schema"] == "skillsv.compiled/1"
    assert made["n"] == len(made["units"]) == made["execution_units"] + 1
    assert made["units"][0]["id"] == made["trigger"]
    raw = (tea / "SKILL.md").read_bytes()
    step = next(unit for unit in made["units"] if unit["form"] == "ordered")
    assert raw[step["span"][0] : step["span"][1]].startswith(b"1. Boil")
    assert step["lines"] == [9, 9]
    assert step["section"][-1] == "Tea"
    link = next(edge for edge in made["edges"] if edge["rule"] == "R1")
    assert (link["source"], link["at"]["line"]) == (step["id"], 9)


def test_rules_granularity_regions_and_resources_can_be_chosen(tea, capsys):
    rules = {edge["rule"] for edge in compiled(capsys, tea)["edges"]}
    assert {"R1", "R6", "R8", "R9"} <= rules
    fewer = {edge["rule"] for edge in compiled(capsys, tea, "--without", "R8,R9")["edges"]}
    assert fewer == rules - {"R8", "R9"}
    sections = compiled(capsys, tea, "--granularity", "section")
    assert [unit["kind"] for unit in sections["units"]] == ["trigger", "section", "resource"]
    assert not any(unit["kind"] == "resource" for unit in compiled(capsys, tea, "--exclude", "notes")["units"])
    kept = compiled(capsys, tea, "--marker", "<!-- KEEP -->=<!-- /KEEP -->")
    assert [unit["kind"] for unit in kept["units"]].count("region") == 1
    split = compiled(capsys, tea, "--marker", "<!-- KEEP -->=<!-- /KEEP -->", "--regions", "split")
    assert len(split["units"]) == len(kept["units"]) + 1


def test_the_json_has_every_unit_and_edge_on_its_own_line(tea, capsys):
    assert run(["compile", str(tea), "--json"]) == 0
    text = capsys.readouterr().out
    whole = compile_skill(tea)
    assert json.loads(text) == compiled_json(whole)
    lines = [json.loads(line.strip().rstrip(",")) for line in text.splitlines() if line.startswith("    {")]
    assert [line["id"] for line in lines if "id" in line] == [unit.id for unit in whole.units]
    assert sum("evidence" in line for line in lines) == len(whole.edges)


def test_the_graph_is_written_to_a_file(tea, tmp_path, capsys):
    target = tmp_path / "tea.svg"
    assert run(["compile", str(tea), "--graph", "svg", "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert ET.parse(target).getroot().tag.endswith("svg")
    assert run(["compile", str(tea), "--graph", "dot"]) == 0
    assert capsys.readouterr().out.startswith('digraph "tea" {')


def test_the_outline_can_be_written_to_a_file(tea, tmp_path, capsys):
    assert run(["compile", str(tea)]) == 0
    printed = capsys.readouterr().out
    assert run(["compile", str(tea), "-o", str(tmp_path / "tea.txt")]) == 0
    assert (tmp_path / "tea.txt").read_text(encoding="utf-8") == printed


def test_an_output_that_cannot_be_written_gives_one_sentence(tea, tmp_path, capsys):
    assert run(["compile", str(tea), "-o", str(tmp_path / "no" / "where.txt")]) == 2
    assert "where.txt" in capsys.readouterr().err


def test_json_and_graph_together_are_refused(tea, capsys):
    assert run(["compile", str(tea), "--json", "--graph", "svg"]) == 2
    assert "--json and --graph" in capsys.readouterr().err


def test_a_file_name_that_is_not_unicode_is_printed_in_every_form(tea, capsys):
    odd = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    try:
        (tea / odd).write_text("x")
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    assert [finding["code"] for finding in compiled(capsys, tea)["findings"]] == ["file-name"]
    for arguments in ([], ["--graph", "svg"], ["--graph", "dot"]):
        assert run(["compile", str(tea), *arguments]) == 0
        capsys.readouterr().out.encode("utf-8")


def test_folders_too_deep_for_json_give_one_sentence(tea, capsys, monkeypatch):
    monkeypatch.chdir(tea)
    for _ in range(600):
        Path("a").mkdir()
        monkeypatch.chdir("a")
    Path("f.txt").write_text("x")
    monkeypatch.chdir(tea)
    assert run(["compile", ".", "--json"]) in {0, 2}
    assert "Traceback" not in capsys.readouterr().err
    assert run(["compile", "."]) == 0
    assert run(["lint", "."]) == 0
    assert "f.txt" in capsys.readouterr().out
