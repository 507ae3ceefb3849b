"""The published schemas are those of the types, and describe every field."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("write_schemas", ROOT / "tools" / "write_schemas.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_published_schemas_are_up_to_date(tool, capsys):
    assert tool.main(["--check"]) == 0, capsys.readouterr().err


def test_check_names_a_stale_or_missing_file_and_changes_nothing(tool, tmp_path, capsys):
    words = ["--folder", str(tmp_path)]
    assert tool.main(words) == 0
    stale = tmp_path / "skillsv.plan-1.json"
    stale.write_text("{}")
    (tmp_path / "skillsv.bench-1.json").unlink()
    capsys.readouterr()
    assert tool.main([*words, "--check"]) == 1
    message = capsys.readouterr().err
    assert "skillsv.plan-1.json" in message
    assert "skillsv.bench-1.json" in message
    assert "skillsv.valuation-1.json" not in message
    assert stale.read_text() == "{}"


def test_every_field_of_every_schema_has_a_description(tool):
    for name, document in tool.DOCUMENTS.items():
        for part, schema in json.loads(tool.schema_text(document))["$defs"].items():
            assert schema["description"], f"{part} in {name}"
            for field, about in schema["properties"].items():
                assert about.get("description"), f"{part}.{field} in {name}"


def test_each_file_is_named_by_the_schema_of_its_documents(tool):
    for name, document in tool.DOCUMENTS.items():
        (schema,) = json.loads(tool.schema_text(document))["$defs"][document.__name__]["properties"]["schema"]["enum"]
        assert name == f"{schema.replace('/', '-')}.json"
