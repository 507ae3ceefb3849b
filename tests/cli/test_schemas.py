"""What commands print as JSON validates against the schemas in docs/schema; a wrong document does not."""

import copy
import json
from contextlib import redirect_stdout
from io import StringIO

import jsonschema
import pytest

from skillsv.cli import run
from skillsv.cli.demo import example_folder

EARLY = 120
"""Rollouts after which most units of the example have no value."""


def printed(*words, code=0):
    with redirect_stdout(StringIO()) as out:
        assert run([str(word) for word in words]) == code
    return json.loads(out.getvalue())


def value_example(folder, *flags, code=0):
    example = example_folder()
    words = ("value", example, "--tasks", example / "evals" / "tasks.jsonl", "--run-dir", folder, "--json", "--quiet")
    agent = f"python:{example / 'evals' / 'agent.py'}:answer"
    return printed(*words, "--agent", agent, "--yes", *flags, code=code)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("example") / "run"


@pytest.fixture(scope="module")
def document(folder):
    return value_example(folder, "-k", "3", "-b", "4")


def test_value_and_estimate_print_the_published_schema(document, folder, validate):
    assert not document["provisional"]
    assert document["chain_cost"] is not None
    assert any(unit["content"] is not None for unit in document["units"])
    validate(document)
    estimated = printed("estimate", folder, "--json")
    assert len(estimated["units"]) == len(document["units"])
    validate(estimated)


@pytest.mark.heavy
def test_an_unfinished_run_of_chains_prints_the_published_schema(tmp_path, validate):
    document = value_example(tmp_path / "run", "-k", "6", "-b", "8", "--max-rollouts", "700", code=4)
    assert document["provisional"]
    validate(document)
    validate(printed("estimate", tmp_path / "run", "--json"))


def test_units_without_a_value_are_null_and_valid(tmp_path, validate):
    document = value_example(tmp_path / "run", "--max-rollouts", EARLY, code=4)
    assert any(unit["net"]["value"] is None for unit in document["units"])
    validate(document)


def test_compile_and_plan_print_the_published_schemas(validate):
    compiled = printed("compile", example_folder(), "--json")
    assert compiled["units"]
    validate(compiled)
    plan = printed("plan", example_folder(), "--json")
    assert plan["expected"]["rollouts"] > 0
    validate(plan)
    validate(printed("plan", example_folder(), "--json", "-k", "4"))


@pytest.mark.heavy
def test_confirm_prints_the_published_schema_and_keeps_it(place, validate):
    words = ("confirm", place / "run", "--json", "--quiet", "--yes")
    answer = printed(*words, "--curves", "skillsv,loo,random", "--max-drop", "50")
    assert len(answer["curves"]) == 3
    assert answer["gate"]["met"]
    validate(answer)
    pooled = printed(*words, "--curves", "skillsv,loo,random", "--pool", place / "run")
    assert pooled["pooled"]
    validate(pooled)
    kept = json.loads((place / "run" / "confirmation.json").read_text())
    assert kept["looks"]
    validate(kept)


def remove_net(document):
    del document["units"][0]["net"]


def remove_anchors(document):
    del document["anchors"]


def write_points(document):
    document["units"][0]["net"]["value"] = 48.3


def write_points_of_score(document):
    document["anchors"]["full"]["value"] = 48.3


def misname_verdict(document):
    document["units"][0]["verdict"] = "remove"


def write_text_for_number(document):
    document["rollouts"]["spent"] = "400"


@pytest.mark.parametrize(
    "spoil",
    [remove_net, remove_anchors, write_points, write_points_of_score, misname_verdict, write_text_for_number],
)
def test_a_wrong_valuation_is_refused(document, validate, spoil):
    validate(document)
    wrong = copy.deepcopy(document)
    spoil(wrong)
    with pytest.raises(jsonschema.ValidationError):
        validate(wrong)
