"""Fixtures of all tests: an empty configuration folder, and the published schemas."""

import json
from pathlib import Path

import jsonschema
import pytest

SCHEMAS = Path(__file__).parents[1] / "docs" / "schema"


@pytest.fixture(scope="session", autouse=True)
def _empty_configuration(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session")
def validate():
    """Validate a document against the published schema that it names. Raises jsonschema.ValidationError."""

    def check(document):
        name = document["schema"].replace("/", "-")
        schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(document)

    return check
