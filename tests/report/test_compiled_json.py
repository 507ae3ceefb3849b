import json

from skillsv.model.compiled_document import CompiledDocument
from skillsv.model.skill import Finding, Severity
from skillsv.report.compiled_json import compiled_json, resolution_lost, sarif

FINDINGS = (
    ("skills/tea/", Finding(code="name-form", severity=Severity.ERROR, message="Rename it.", file="SKILL.md", line=2)),
    ("", Finding(code="cycle", severity=Severity.NOTE, message="A circle.", file="notes/my file#1.md", line=0)),
    ("./", Finding(code="cycle", severity=Severity.WARNING, message="Another.", file="SKILL.md", line=7)),
)


def run_of(log):
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    return run


def test_each_sarif_result_has_rule_level_and_location():
    run = run_of(sarif(FINDINGS, {"cycle": "Circles"}, version="1.2.3"))
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


def test_sarif_uris_are_valid_for_absolute_folders_and_odd_bytes():
    odd = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    finding = Finding(code="nul", severity=Severity.NOTE, message="x", file=odd)
    log = sarif([("/srv/skills/", finding)], {}, version="0")
    result = run_of(log)["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///srv/skills/caf%E9.md"
    json.dumps(log).encode("ascii")


def test_sarif_without_findings_is_an_empty_log():
    run = run_of(sarif([], {"cycle": "Circles"}, version="0"))
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []


def test_resolution_lost_counts_every_rule_of_a_cycle(tea):
    lost = {rule: (loss.merged, loss.expanded) for rule, loss in resolution_lost(tea()).items()}
    assert lost == {"R3": (2, 1), "R8": (2, 0)}


def test_compiled_json_has_every_field_of_the_schema(tea, validate):
    fields = compiled_json(tea())
    assert fields["schema"] == "skillsv.compiled/1"
    assert set(fields) == set(CompiledDocument.__annotations__)
    validate(fields)
    assert (fields["trigger"], fields["n"], fields["execution_units"]) == ("m", 4, 3)
    assert fields["units"][1] == {
        "id": "c",
        "kind": "composite",
        "form": "composite",
        "file": "SKILL.md",
        "span": [24, 42],
        "lines": [5, 5],
        "section": ["Tea"],
        "members": ["a", "b"],
        "flags": [],
        "extents": [
            {"file": "SKILL.md", "span": [24, 42], "lines": [5, 5]},
            {"file": "SKILL.md", "span": [42, 49], "lines": [6, 6]},
        ],
    }
    assert fields["edges"][2] == {
        "rule": "R9",
        "source": "d",
        "target": "c",
        "evidence": "lead-in",
        "at": {"file": "SKILL.md", "line": 7},
        "target_at": None,
    }
    assert fields["hierarchy"] == {
        "name": "tea",
        "children": [
            {"unit": "m"},
            {"name": "Tea", "children": [{"unit": "c"}, {"unit": "d"}]},
            {"unit": "notes/heat.md"},
        ],
    }
    assert fields["contractions"][0]["members"] == ["a", "b"]
    assert fields["repairs"] == [{"node": "tea", "expanded": "Tea", "cycle": ["Tea", "notes"], "rules": ["R3"]}]
    assert fields["resolution_lost"] == {"R3": {"merged": 2, "expanded": 1}, "R8": {"merged": 2, "expanded": 0}}
    assert fields["findings"] == [
        {"code": "nul", "severity": "warning", "message": "Byte 4.", "file": "SKILL.md", "line": 2}
    ]
    assert fields["options"]["markers"] == [["<!-- A -->", "<!-- B -->"]]
    assert fields["digest"] == "0123456789abcdef0123"
    assert json.loads(json.dumps(fields)) == fields
