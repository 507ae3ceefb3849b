"""Checks of files: bytes that confuse tools, and answers that agents could read."""

import json

from skillsv.model.skill import Severity


def test_a_byte_order_mark_is_reported_in_any_markdown_file(places):
    files = {"SKILL.md": "# Tea\n\nSee notes/heat.md.\n", "notes/heat.md": b"\xef\xbb\xbf# Heat\n"}
    assert places("byte-order-mark", files) == [("notes/heat.md", 1)]


def test_mixed_line_ends_are_reported_at_the_first_rare_one(places):
    assert places("mixed-line-ends", b"# Tea\n\nBoil.\r\nPour.\nDrink.\n") == [("SKILL.md", 7)]


EVALS = {
    "SKILL.md": "# Tea\n\nThe tests are in evals/evals.json.\n",
    "evals/evals.json": json.dumps({"answer": 42}),
    "evaluations/more.json": "{}",
    "tea.eval.yaml": "x: 1\n",
}


def test_a_folder_of_answers_is_reported_instead_of_the_note(lint):
    findings = {finding.code: finding for finding in lint(EVALS)}
    assert findings["evals-leak"].severity is Severity.WARNING
    assert "evals" not in findings


def test_a_line_that_names_the_folder_of_answers_is_reported(places):
    assert places("evals-named", EVALS) == [("SKILL.md", 7)]
    assert places("evals-named", "# Tea\n\nPut evals/ beside it.\n", folder="tea2") == []


def test_names_that_suggest_answers_are_reported(places):
    assert places("evals-lookalike", EVALS) == [("evaluations/more.json", 1), ("tea.eval.yaml", 1)]
