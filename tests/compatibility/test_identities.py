"""Fingerprints, digests, ledger keys, schemas, file names and JSON fields stay what `golden.json` recorded.

A change here breaks run folders and programs of users. Where it is meant, write the file again and say so in the
change log: `SKILLSV_WRITE_GOLDEN=1 python -m pytest tests/compatibility`.
"""

import hashlib
import json
import os
import sqlite3
from pathlib import Path

import pytest

from skillsv.cli import run

GOLDEN = Path(__file__).with_name("golden.json")
SKILLS = ("support-desk", "linked", "optimized", "cyclic")
METHODS = {
    "chain": ("--method", "chain", "-k", "3", "-b", "4", "--operators", "delete,pad"),
    "auto": ("--method", "auto", "--operators", "delete", "--max-rollouts", "150"),
}


def digest(value):
    """A short digest of any JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def field_paths(value, path="$"):
    """Every path of a JSON document, with list positions and keys that name units or tasks left out."""
    if isinstance(value, dict):
        names = {f"{path}.{key}" for key in value}
        return names.union(*(field_paths(item, f"{path}.{key}") for key, item in value.items()), ())
    if isinstance(value, list):
        return set().union(*(field_paths(item, f"{path}[]") for item in value), ())
    return set()


def command_json(capsys, *words):
    """What a command prints as JSON."""
    capsys.readouterr()
    assert run([str(word) for word in (*words, "--json")]) in {0, 4}
    return json.loads(capsys.readouterr().out)


def compiled_identity(capsys, skill):
    """Digest, unit ids and edges of the compiled skill, and its JSON fields."""
    compiled = command_json(capsys, "compile", skill)
    return {
        "digest": compiled["digest"],
        "units": [unit["id"] for unit in compiled["units"]],
        "edges": digest([[edge["rule"], edge["source"], edge["target"]] for edge in compiled["edges"]]),
        "hierarchy": digest(compiled["hierarchy"]),
        "fields": sorted(field_paths(compiled)),
    }


def ledger_rows(folder):
    """The keys of all rollouts and their scores, as a resumed run would look them up."""
    connection = sqlite3.connect(folder / "ledger.sqlite")
    rows = connection.execute("select hex(key), tree, task, agent, replicate, task_id, score from rollout").fetchall()
    tables = connection.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
    connection.close()
    return sorted(rows), tables


def rounded(value):
    """The value to nine digits; None where the unit has no value yet."""
    return None if value is None else round(value, 9)


def run_identity(folder):
    """Everything a stored run is recognised by."""
    manifest = json.loads((folder / "manifest.json").read_text())
    about = manifest.pop("about")
    manifest.pop("version")
    rows, tables = ledger_rows(folder)
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    valuation = json.loads((folder / "valuation.json").read_text())
    return {
        "manifest": {**manifest, "panel_a": digest(manifest["panel_a"]), "panel_b": digest(manifest["panel_b"])},
        "about": sorted(about),
        "about_settings": sorted(about["settings"]),
        "files": sorted(path.name for path in folder.iterdir() if not path.name.startswith("ledger.sqlite-")),
        "rollouts": len(rows),
        "keys": digest(rows),
        "tables": digest([[name, " ".join(sql.split())] for name, sql in tables]),
        "records": {
            "count": len(records),
            "digest": digest(sorted(json.dumps(line, sort_keys=True) for line in records)),
        },
        "record_fields": sorted(set().union(*(field_paths(line) for line in records))),
        "valuation_fields": sorted(field_paths(valuation)),
        "values": digest([[unit["id"], rounded(unit["net"]["value"])] for unit in valuation["units"]]),
    }


def value_identity(capsys, make_skill, name, method):
    """The identity of a small run of this skill by this method."""
    skill, tasks, agent = make_skill(name)
    folder = skill.parent / "run"
    command_json(
        capsys, "value", skill, "--tasks", tasks, "--agent", agent, *METHODS[method],
        "--run-dir", folder, "--yes", "--quiet", "--keep-going", "-j", "1",
    )  # fmt: skip
    return {"compiled": compiled_identity(capsys, skill), "run": run_identity(folder)}


@pytest.mark.heavy
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SKILLS)
def test_identities_are_those_of_the_golden_file(name, method, make_skill, capsys):
    found = value_identity(capsys, make_skill, name, method)
    recorded = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    key = f"{name}/{method}"
    if os.environ.get("SKILLSV_WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps({**recorded, key: found}, indent=1, sort_keys=True) + "\n")
    assert found == json.loads(GOLDEN.read_text())[key]


def test_field_paths_see_a_changed_field():
    assert field_paths({"a": [{"b": 1}]}) == {"$.a", "$.a[].b"}
    assert field_paths({"a": [{"c": 1}]}) != field_paths({"a": [{"b": 1}]})
