import json

from skillsv.model.skill import Finding, Severity
from skillsv.report.compiled_json import sarif

FOUND = (
    ("skills/tea/", Finding(code="name-form", severity=Severity.ERROR, message="Rename it.", file="SKILL.md", line=2)),
    ("", Finding(code="cycle", severity=Severity.NOTE, message="A circle.", file="notes/my file#1.md", line=0)),
    ("./", Finding(code="cycle", severity=Severity.WARNING, message="Another.", file="SKILL.md", line=7)),
)


def run_of(log):
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    return run


def test_each_result_names_its_rule_level_and_place():
    run = run_of(sarif(FOUND, {"cycle": "Circles"}, version="1.2.3"))
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("skillsv", "1.2.3")
    assert driver["rules"] == [
        {"id": "cycle", "shortDescription": {"text": "Circles"}},
        {"id": "name-form", "shortDescription": {"text": "name-form"}},
    ]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert places == ["skills/tea/SKILL.md", "notes/my%20file%231.md", "SKILL.md"]


def test_an_absolute_folder_and_bytes_that_are_no_unicode_make_a_valid_uri():
    odd = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    finding = Finding(code="nul", severity=Severity.NOTE, message="x", file=odd)
    log = sarif([("/srv/skills/", finding)], {}, version="0")
    result = run_of(log)["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///srv/skills/caf%E9.md"
    json.dumps(log).encode("ascii")


def test_no_findings_make_an_empty_log():
    run = run_of(sarif([], {"cycle": "Circles"}, version="0"))
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []
