"""The table of rules, and what holds for all of them."""

from __future__ import annotations

import pytest

from skillsv.compile import RULES, CompileOptions
from skillsv.errors import SettingsError

EVERYTHING = {
    "SKILL.md": (
        "---\nname: demo\n---\n# Start here\n\n[g](references/g.md) and scripts/run.py as in Final Words.\n\n"
        "1. Follow examples/e.md with `LIMIT`:\n- refine\n\nThese:\n\n- a\n\n"
        "| a | b |\n|---|---|\n\n| 1 | 2 |\n\n## Final Words\n\nend\n"
    ),
    "references/g.md": "x",
    "scripts/run.py": "LIMIT = 3\n",
    "examples/e.md": "x",
}


def test_the_table_lists_nine_rules_and_marks_the_heuristic_ones():
    assert [rule.id for rule in RULES] == [f"R{number}" for number in range(1, 10)]
    assert [rule.name for rule in RULES if rule.heuristic] == ["heading-ref", "list-cont", "lead-in"]


def test_every_rule_finds_its_edge(compiled):
    assert {edge.rule for edge in compiled(EVERYTHING).edges} == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.id != "R6"])
def test_a_rule_that_is_left_out_finds_nothing_and_changes_no_other(compiled, rule):
    full = compiled(EVERYTHING)
    less = compiled(EVERYTHING, without=frozenset({rule}))
    assert less.edges == tuple(edge for edge in full.edges if edge.rule != rule)
    assert less.options["without"] == [rule]


def test_two_rules_that_miss_the_same_section_say_so_once(compiled):
    skill = compiled("# Start\n\nSee [it](#final-words-now), the Final Words now.\n\n# Final *Words* now\n")
    assert [one.code for one in skill.findings if one.code != "no-frontmatter"] == ["empty-section"]


def test_a_def_use_edge_names_every_symbol_of_its_two_units(compiled):
    skill = compiled("Read `IN_PATH`, write `OUT_PATH`, read `IN_PATH`.\n\n```python\nIN_PATH = 1\nOUT_PATH = 2\n```\n")
    (found,) = [edge for edge in skill.edges if edge.rule == "R4"]
    assert found.evidence == (
        "uses IN_PATH (line 1), defined in SKILL.md:4; uses OUT_PATH (line 1), defined in SKILL.md:5"
    )
    assert (found.at.line, found.target_at.line) == (1, 4)


def test_an_unknown_rule_is_named(compiled):
    with pytest.raises(SettingsError, match="no rule R12"):
        compiled("x", without=frozenset({"R12"}))


def test_the_trigger_rule_cannot_be_left_out(compiled):
    with pytest.raises(SettingsError, match="R6 cannot be switched off") as caught:
        compiled(EVERYTHING, without=frozenset({"R3", "R6"}))
    assert "before the trigger" in str(caught.value)


def test_every_execution_unit_needs_the_trigger_once(compiled):
    skill = compiled(EVERYTHING)
    sources = [edge.source for edge in skill.edges if edge.rule == "R6"]
    assert sources == list(skill.execution)
    assert {edge.target for edge in skill.edges if edge.rule == "R6"} == {"m"}


def test_the_markers_are_an_option(compiled):
    text = "<!-- BEGIN -->\n- a\n- b\n<!-- END -->\n"
    assert len(compiled(text).execution) == 4
    assert len(compiled(text, markers=(("<!-- BEGIN -->", "<!-- END -->"),)).execution) == 1


def test_options_are_plain_data():
    options = CompileOptions(without=frozenset({"R9", "R3"}), include=("a",))
    assert options.as_mapping()["without"] == ["R3", "R9"]
    assert options.as_mapping()["include"] == ["a"]
