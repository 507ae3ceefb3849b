"""Which words teach the housekeeper what: a small skill of our own, and the published one unit by unit."""

from __future__ import annotations

import pytest

from skillsv.compiler import compile_skill
from skillsv.pipeline.build_valuation import text_of
from skillsv_bench.alfworld.agents import noop, random_agent, reference
from skillsv_bench.alfworld.policy import COMPETENCES
from skillsv_bench.alfworld.rules import COMPETENCE_PATTERNS, read_competences, rules

SKILL = {
    "format": "Answer with `<action>` tags.",
    "search": "Search every place in the room.",
    "open": "Open closed doors before you call a place empty.",
    "likely": "Visit likely locations first.",
    "ledger": "Keep a persistent searched set.",
    "exact": "Take only the exact thing that is asked for.",
    "appliances": "To clean a thing, go to the sink.",
    "transform": "Do the state change at the appliance, then deliver.",
    "lamp": "To examine a thing, find the desklamp and use it.",
    "count": "Keep a count of how many objects are still missing.",
    "admissible": "Do not invent actions.",
}


def test_every_competence_is_taught_by_its_own_line_alone():
    assert tuple(COMPETENCE_PATTERNS) == COMPETENCES == tuple(SKILL)
    assert {name: read_competences(line) for name, line in SKILL.items()} == {name: {name} for name in SKILL}
    assert read_competences("\n".join(SKILL.values())) == set(COMPETENCES)
    assert read_competences("Be helpful. Take action.") == frozenset()


def test_units_of_the_published_skill_teach_distinct_competences(shared):
    compiled = compile_skill(shared / "corpus/optimized/microsoft__SkillOpt__ckpt-alfworld-gpt5.5")
    teach = {unit: read_competences(text_of(compiled, unit)) for unit in compiled.execution}
    lessons = [names for names in teach.values() if names]
    assert len(lessons) == 10
    assert sorted(name for names in lessons for name in names) == sorted(COMPETENCES)


@pytest.mark.parametrize("make", [reference, noop, random_agent, rules])
def test_agents_without_a_model_have_names_of_their_own(make, monkeypatch):
    monkeypatch.setattr("skillsv_bench.alfworld.games.find_spec", lambda _: object())
    assert make().fingerprint.startswith("alfworld-")
    assert make().fingerprint == make().fingerprint
