"""The page of a matrix in a real browser without network: heat map, sorting, filters, hostile text."""

from __future__ import annotations

import pytest

from skillsv.compiler import compile_files
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.report.matrix_html import matrix_page

HOSTILE = "</td><script>alert('unit')</script><img src=x onerror=alert('img')> \u202ereversed"
HOSTILE_AGENT = "model:<script>alert('agent')</script>"

TEXT = f"""\
---
name: letters
description: Knows letters.
---
# Letters

- helps all
- helps one only
- helps one, harms the other
- {HOSTILE}
"""

ROWS = (
    ((0.30, "helps"), (0.20, "helps"), "helps all", False),
    ((0.25, "helps"), (0.00, "none"), "helps some", True),
    ((-0.10, "harms"), (0.10, "helps"), "disagree", True),
    ((0.05, "open"), (None, "open"), "open", False),
)


def effect(value):
    low, high = (-1.0, 1.0) if value is None else (value - 0.02, value + 0.02)
    return {"value": value, "low": low, "high": high}


def agent(name, *, error=None):
    score = {"value": 0.5, "low": 0.4, "high": 0.6}
    rollouts = {"spent": 400, "reused": 0, "failed": 0, "cut": 0, "forecast": 400}
    return {
        "name": name, "spec": name, "folder": "run", "noisy": False, "provisional": False, "error": error,
        "anchors": {"empty": score, "trigger": score, "full": score}, "content_lift": effect(0.4),
        "rollouts": rollouts, "usage": {"input_tokens": None, "output_tokens": None, "usd": None},
    }  # fmt: skip


@pytest.fixture(scope="module")
def parts():
    """The document of a matrix, and the compiled skill."""
    data = TEXT.encode()
    file = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=data, size=len(data), digest="d")
    compiled = compile_files(Skill(name=HOSTILE, root=None, main="SKILL.md", files=(file,)))
    names = ("small", HOSTILE_AGENT)
    units = [
        {
            "id": unit, "file": "SKILL.md", "lines": [compiled.unit[unit].lines.first] * 2, "section": [], "tokens": 4,
            "text": TEXT.splitlines()[compiled.unit[unit].lines.first - 1],
            "cells": [
                {"agent": name, "net": effect(value), "effect": shown, "verdict": "keep"}
                for name, (value, shown) in zip(names, cells, strict=True)
            ],
            "pattern": pattern, "disagree": disagree, "spread": 0.1,
        }
        for unit, (*cells, pattern, disagree) in zip(compiled.execution, ROWS, strict=True)
    ]  # fmt: skip
    shorter = {"agents": list(names), "removed": [], "tokens_after": 9, "predicted": []}
    document = {
        "schema": "skillsv.matrix/1", "tasks": 20, "level": 0.95, "max_drop": 0.05,
        "skill": {"name": HOSTILE, "tokens": 30}, "agents": [agent(name) for name in names], "units": units,
        "agreements": [{"first": "small", "second": HOSTILE_AGENT, "tau": 0.2, "p": 0.4, "p_holm": 0.4}],
        "shared": shorter, "for_each": [], "notes": [HOSTILE],
    }  # fmt: skip
    return document, compiled


@pytest.fixture(scope="module")
def matrix_text(parts):
    return matrix_page(*parts)


def shown_lines(page):
    return page.locator("tr.unit-row:visible td.words").all_inner_texts()


@pytest.mark.heavy
def test_the_heat_map_has_a_cell_for_each_agent_and_line(opening, matrix_text):
    shown = opening(matrix_text)
    page = shown.page
    assert page.locator("tr.unit-row").count() == 4
    first = page.locator("tr.unit-row").first.locator("td.cell")
    assert [cell.locator("b").inner_text() for cell in first.all()] == ["+30.0", "+20.0"]
    colours = first.evaluate_all("cells => cells.map(cell => getComputedStyle(cell).backgroundColor)")
    harmed = page.locator("tr[data-pattern=disagree] td.cell").first
    assert harmed.evaluate("cell => getComputedStyle(cell).backgroundColor") not in colours
    assert page.locator("tr.other-row.heading").inner_text().endswith("# Letters")
    shown.assert_no_errors()


@pytest.mark.heavy
def test_a_click_on_a_column_sorts_by_it_and_the_unknown_comes_last(opening, matrix_text):
    page = opening(matrix_text).page
    written = shown_lines(page)
    page.locator("table.heat th.agent button").first.click()
    assert [line[2:12] for line in shown_lines(page)] == ["helps all", "helps one ", "</td><scri", "helps one,"]
    assert not page.locator("tr.other-row").first.is_visible()
    page.locator("table.heat th.agent button").nth(1).click()
    assert shown_lines(page)[-1] == written[3]
    page.locator("table.heat th.agent button").nth(1).click()
    assert page.locator("table.heat th.agent").nth(1).get_attribute("aria-sort") == "ascending"
    assert shown_lines(page)[-1] == written[3]
    page.locator("table.heat th button", has_text="line").click()
    assert shown_lines(page) == written
    assert page.locator("tr.other-row").first.is_visible()


@pytest.mark.heavy
def test_filters_show_lines_on_which_agents_differ_or_disagree(opening, matrix_text):
    page = opening(matrix_text).page
    differ = page.locator("button[data-filter=differ]")
    assert differ.inner_text() == "differ 2"
    differ.click()
    assert [line[2:] for line in shown_lines(page)] == ["helps one only", "helps one, harms the other"]
    assert page.locator("#shown").inner_text() == "2 of 4 lines"
    page.locator("button[data-filter=disagree]").click()
    assert [line[2:] for line in shown_lines(page)] == ["helps one, harms the other"]
    page.locator("button[data-filter='helps all']").click()
    assert [line[2:] for line in shown_lines(page)] == ["helps all"]
    page.locator("button[data-filter='helps all']").click()
    assert len(shown_lines(page)) == 4


def test_the_summary_tells_new_rollouts_from_reused_ones(opening, parts):
    document, compiled = parts
    rollouts = {"spent": 0, "reused": 750, "failed": 0, "cut": 0, "forecast": 400}
    again = {**document, "agents": [{**agent, "rollouts": rollouts} for agent in document["agents"]]}
    summary = opening(matrix_page(again, compiled)).page.locator("p.summary").inner_text()
    assert "2 agents on the same 20 tasks; 0 new rollouts, 1,500 reused." in summary
    assert "20 tasks; 800 rollouts." in opening(matrix_page(document, compiled)).page.locator("p.summary").inner_text()


def test_hostile_text_of_units_agents_and_notes_runs_nothing(opening, matrix_text):
    shown = opening(matrix_text)
    page = shown.page
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert "⟨U+202E⟩" in page.locator("tr.unit-row").nth(3).locator(".words").inner_text()
    assert page.locator("table.heat th.agent").nth(1).inner_text() == HOSTILE_AGENT
    page.locator("details summary").click()
    shown.assert_no_errors()


def test_the_whole_table_shows_without_the_script(opening, matrix_text):
    page = opening(matrix_text, java_script_enabled=False).page
    assert page.locator("tr.unit-row").count() == 4
    assert page.locator("tr.unit-row").nth(3).is_visible()
    assert not page.locator("#toolbar").is_visible()


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_the_matrix(opening, matrix_text, axe_faults, scheme):
    page = opening(matrix_text, color_scheme=scheme, bypass_csp=True).page
    assert axe_faults(page) == []
