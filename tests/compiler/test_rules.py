"""The table of rules, and properties of all rules."""

from __future__ import annotations

import pytest

from skillsv.compiler import RULES, CompileOptions
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


def test_the_table_lists_ten_rules_and_marks_the_heuristic_ones():
    assert [rule.id for rule in RULES] == [f"R{number}" for number in range(1, 11)]
    assert [rule.name for rule in RULES if rule.heuristic] == ["heading-ref", "list-cont", "lead-in"]


def test_every_rule_finds_its_edge(compiled):
    assert {edge.rule for edge in compiled(EVERYTHING).edges} == {rule.id for rule in RULES} - {"R10"}
    inside = compiled({"SKILL.md": "See a.md.\n", "a.md": "- one\n- two\n"}, inside="references")
    assert sum(edge.rule == "R10" for edge in inside.edges) == 2


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.id != "R6"])
def test_a_rule_left_out_removes_its_own_edges_only(compiled, rule):
    full = compiled(EVERYTHING)
    less = compiled(EVERYTHING, without=frozenset({rule}))
    assert less.edges == tuple(edge for edge in full.edges if edge.rule != rule)
    assert less.options["without"] == [rule]


def test_an_empty_section_found_by_two_rules_is_reported_once(compiled):
    skill = compiled("# Start\n\nSee [it](#final-words-now), the Final Words now.\n\n# Final *Words* now\n")
    assert [finding.code for finding in skill.findings if finding.code != "no-frontmatter"] == ["empty-section"]


def test_a_def_use_edge_names_every_symbol_of_its_two_units(compiled):
    skill = compiled("Read `IN_PATH`, write `OUT_PATH`, read `IN_PATH`.\n\n```python\nIN_PATH = 1\nOUT_PATH = 2\n```\n")
    (edge,) = [edge for edge in skill.edges if edge.rule == "R4"]
    assert edge.evidence == (
        "uses IN_PATH (line 1), defined in SKILL.md:4; uses OUT_PATH (line 1), defined in SKILL.md:5"
    )
    assert (edge.at.line, edge.target_at.line) == (1, 4)


def test_an_unknown_rule_is_refused_by_name(compiled):
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


def test_markers_of_regions_are_an_option(compiled):
    text = "<!-- BEGIN -->\n- a\n- b\n<!-- END -->\n"
    assert len(compiled(text).execution) == 4
    assert len(compiled(text, markers=(("<!-- BEGIN -->", "<!-- END -->"),)).execution) == 1


def test_options_become_plain_sorted_data():
    options = CompileOptions(without=frozenset({"R9", "R3"}), include=("a",))
    assert options.as_mapping()["without"] == ["R3", "R9"]
    assert options.as_mapping()["include"] == ["a"]
