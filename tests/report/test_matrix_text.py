"""The matrix in a terminal and as CSV."""

import csv
import io

import pytest
from rich.console import Console

from skillsv.report.matrix_text import matrix_csv, matrix_lines, matrix_table, shorten_names


def effect(value):
    return {"value": value, "low": value - 0.01, "high": value + 0.01}


def unit(name, *cells, pattern, disagree=False, text="- a line"):
    agents = ("=small", "large")
    return {
        "id": name, "file": "SKILL.md", "lines": [7, 7], "section": [], "tokens": 3, "text": text,
        "cells": [
            {"agent": agent, "net": effect(value), "effect": shown, "verdict": "keep"}
            for agent, (value, shown) in zip(agents, cells, strict=True)
        ],
        "pattern": pattern, "disagree": disagree, "spread": 0.2,
    }  # fmt: skip


@pytest.fixture
def document():
    rollouts = {"spent": 10, "reused": 2, "failed": 0, "cut": 0, "forecast": 10}
    agents = [
        {"name": name, "noisy": noisy, "error": error, "rollouts": rollouts}
        for name, noisy, error in (("=small", False, None), ("large", True, "the budget is used up."))
    ]
    return {
        "skill": {"name": "s", "tokens": 90}, "max_drop": 0.05, "agents": agents,
        "units": [
            unit("a/1", (0.1, "helps"), (0.1, "helps"), pattern="helps all"),
            unit("a/2", (0.1, "helps"), (-0.1, "harms"), pattern="disagree", disagree=True, text="- \x1b[31m**red**"),
        ],
        "agreements": [{"first": "=small", "second": "large", "tau": -0.5, "p": 0.2, "p_holm": 0.2}],
        "shared": {"agents": ["=small", "large"], "removed": [], "tokens_after": 90, "predicted": []},
        "for_each": [], "notes": [],
    }  # fmt: skip


def test_sentences_count_patterns_and_name_differences(document):
    lines = matrix_lines(document)
    assert lines[0] == "Of 2 units: 1 helps all agents, 1 helps one and harms another. Agents differ on 1."
    assert lines[1].startswith("Line 7 (␛[31mred): =small +10.0 [+9.0, +11.0], large −10.0")
    assert "large: noisy, 10 rollouts run, 2 reused; the budget is used up." in lines
    assert "For all agents nothing can go without a predicted risk of more than 5 points." in lines
    assert len(matrix_lines(document, units=False)) == len(lines) - 1


def test_agents_without_values_are_not_among_all_agents(document):
    failed = {"name": "down", "noisy": False, "error": "does not answer.", "rollouts": None}
    lines = matrix_lines({**document, "agents": [*document["agents"], failed, failed]})
    assert lines[0].startswith("Of 2 units: 1 helps all 2 agents with values, 1 helps one and harms another.")
    assert "For all 2 agents with values nothing can go without a predicted risk of more than 5 points." in lines
    one = matrix_lines({**document, "agents": [document["agents"][0], failed]})
    assert one[0].startswith("Of 2 units: 1 helps the only agent with values, ")


def test_the_table_escapes_text_and_fits_any_width(document):
    for width in (50, 80, 160):
        out = io.StringIO()
        Console(file=out, width=width).print(matrix_table(document, width=width, colour=False))
        shown = out.getvalue()
        assert "\x1b" not in shown
        assert "disagree *" in shown
        assert max(map(len, shown.splitlines())) <= width


def test_csv_holds_points_and_no_formula(document):
    rows = list(csv.DictReader(io.StringIO(matrix_csv(document))))
    assert rows[0]["'=small"] == "10.0"
    assert rows[1]["large"] == "-10.0"
    assert [row["disagree"] for row in rows] == ["false", "true"]
    assert [row["differ"] for row in rows] == ["false", "true"], "the name that the documentation has for it"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["python:a.py:reader", "python:a.py:expert"], ["reader", "expert"]),
        (["model:big/one", "model:big/other", "command:x"], ["model:big/one", "model:big/other", "command:x"]),
        (["model:one", "model:once"], ["one", "once"]),
        (["model:a", "model:a/b"], ["model:a", "model:a/b"]),
        (["model:a"], ["model:a"]),
    ],
)
def test_names_of_agents_leave_out_what_all_begin_with(names, short):
    assert shorten_names(names) == short


def test_a_narrow_table_keeps_words_of_units_and_says_that_intervals_are_left_out(document):
    console = Console(width=60, file=io.StringIO(), highlight=False)
    console.print(matrix_table(document, width=60, colour=False))
    text = console.file.getvalue()
    assert "a line" in text
    assert "Intervals are left out for lack of room" in text
    wide = Console(width=160, file=io.StringIO(), highlight=False)
    wide.print(matrix_table(document, width=160, colour=False))
    assert "left out" not in wide.file.getvalue()
