import json
from dataclasses import replace

import pytest

import skillsv as sv
from skillsv.model.task import Task
from skillsv.pipeline.evidence import gather_evidence
from skillsv.pipeline.run import load_run
from skillsv.rollout import RunFolder

SKILL = "---\nname: words\ndescription: Words.\n---\n\n# Words\n\n- Say alpha.\n- Say beta.\n- Shout.\n- Hum.\n"

AGENT = """
def answer(skill, task):
    text = skill.text if skill else ""
    word = next((word for word in ("alpha", "beta") if word == task.input and f"Say {word}" in text), "nothing")
    return word.upper() if "Shout" in text and task.metadata.get("quiet") else word
"""


@pytest.fixture(scope="module", params=["auto", "chain"])
def folder(request, tmp_path_factory):
    """A run of each method, with its skill, tasks and agent in files."""
    place = tmp_path_factory.mktemp("evidence")
    (place / "words").mkdir()
    (place / "words/SKILL.md").write_text(SKILL)
    (place / "agent.py").write_text(AGENT)
    tasks = [
        {"id": f"t{n:02d}", "input": ["alpha", "beta"][n % 2], "target": ["alpha", "beta"][n % 2], "verifier": "exact",
         "stratum": ["first", "second"][n % 2], "metadata": {"quiet": n % 4 == 3}}
        for n in range(24)
    ]  # fmt: skip
    (place / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    sv.value(
        place / "words", tasks=place / "tasks.jsonl", agent=f"python:{place}/agent.py:answer", run_dir=place / "run",
        max_rollouts=600, panel_b=0, method=request.param, yes=True,
    )  # fmt: skip
    return place / "run"


def evidence_of(folder, limit=10_000):
    run = load_run(folder)
    found = gather_evidence(RunFolder(folder), run, None, limit).evidence
    ids = {unit.text.strip(): unit.id for unit in run.valuation.units}
    return {text: found.of(unit) for text, unit in ids.items()}, found


def test_a_line_has_the_tasks_that_it_decided_with_both_answers(folder):
    by_text, found = evidence_of(folder)
    alpha = by_text["- Say alpha."]
    assert alpha.raised
    assert alpha.lowered == ()
    assert found.by_stratum(alpha.raised) == {"first": len(alpha.raised)}
    for example in alpha.examples:
        assert (example.input, example.expected, example.answer_with) == ("alpha", "alpha", "alpha")
        assert example.answer_without == "nothing"
        assert (example.score_with, example.score_without) == (1.0, 0.0)


def test_a_harmful_line_shows_tasks_that_it_lowered(folder):
    shout = evidence_of(folder)[0]["- Shout."]
    assert shout.lowered
    assert {example.answer_with for example in shout.examples} == {"BETA"}
    assert {example.answer_without for example in shout.examples} == {"beta"}


def test_a_line_without_effect_has_comparisons_and_no_example(folder):
    hum = evidence_of(folder)[0]["- Hum."]
    assert hum.comparisons > 0
    assert hum.raised == hum.lowered == hum.examples == ()


def test_without_room_for_texts_there_are_none(folder):
    by_text, found = evidence_of(folder, limit=0)
    assert by_text["- Say alpha."].raised
    assert all(unit.examples == () for unit in by_text.values())
    assert found.strata == {}


def test_texts_are_cut_where_many_lines_share_the_room(folder):
    run = load_run(folder)
    digests = run.manifest["panel_a"]
    tasks = [Task(id=name, input="x" * 5_000, digest=digest) for name, digest in digests.items()]
    found = gather_evidence(RunFolder(folder), run, tasks, 2_000).evidence
    inputs = [example.input for unit in found.by_unit.values() for example in unit.examples]
    assert inputs
    assert max(map(len, inputs)) < 300


def test_a_run_whose_tasks_are_gone_still_has_evidence(folder):
    run = load_run(folder)
    moved = {**run.manifest, "about": {**run.manifest["about"], "tasks": "/nowhere/tasks.jsonl"}}
    found = gather_evidence(RunFolder(folder), replace(run, manifest=moved), None, 10_000).evidence
    examples = [example for unit in found.by_unit.values() for example in unit.examples]
    assert examples
    assert {example.input for example in examples} == {None}
    assert all(example.answer_with is not None for example in examples)


def test_the_page_of_a_run_shows_the_answers(folder):
    text = sv.load_run(folder).page()
    assert "answer without it" in text
    assert "nothing" in text
    assert "answer without it" not in sv.load_run(folder).page(transcripts=0)
