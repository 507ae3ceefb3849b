"""The agent that follows rules: its game is known, and the estimate finds it."""

from __future__ import annotations

import anyio
import pytest

from skillsv_bench.benchmark import Source
from skillsv_bench.livemath import BENCHMARK
from skillsv_bench.livemath.agents import COMPETENCE_PATTERNS, find_needed_competences, read_competences
from skillsv_bench.livemath.tasks import load

SENTENCES = {
    "stronger-option": "An option that speaks of a stronger result is to be taken.",
    "ranking": "Look for the strongest statement.",
    "completeness": "Check each classification.",
    "equivalence": "An equivalence goes both ways.",
    "estimates": "Compare each constant.",
    "quantifiers": "Read every quantifier.",
    "hypotheses": "Which hypothesis is used?",
}


@pytest.mark.parametrize("competence", COMPETENCE_PATTERNS)
def test_each_sentence_teaches_its_own_competence(competence):
    assert read_competences(SENTENCES[competence]) == {competence}


def test_nothing_is_learnt_from_nothing():
    assert read_competences("") == read_competences("Drink tea. blank blank blank") == frozenset()


def test_each_question_needs_what_its_words_say(data):
    assert {task.id: set(find_needed_competences(task)) for task in load(Source(data=data)).tasks} == {
        "209901:1": {"stronger-option", "ranking"},
        "209901:2": {"stronger-option"},
        "209901:5": {"completeness"},
        "209901:7": {"estimates", "ranking"},
        "209902:1": {"equivalence"},
        "209902:2": {"quantifiers"},
        "209902:4": {"hypotheses", "ranking"},
        "209902:12": {"hypotheses"},
    }


@pytest.mark.heavy
def test_the_verifier_agrees_with_the_known_game(data, rendering, tmp_path):
    agent, verifier = BENCHMARK.builtin_agents["rules"](), BENCHMARK.verifier()
    names = list(SENTENCES)
    for mask in range(2 ** len(names)):
        text = "\n".join(SENTENCES[name] for place, name in enumerate(names) if mask >> place & 1)
        skill = rendering(text) if text else None
        for task in load(Source(data=data)).tasks:
            outcome = anyio.run(agent.run, skill, task, 0, tmp_path)
            assert anyio.run(verifier.score, task, outcome, tmp_path) == float(
                find_needed_competences(task) <= read_competences(text)
            )


SKILL = "# Knots\n\n" + "\n".join(f"- {sentence}" for sentence in (*SENTENCES.values(), "Drink tea.")) + "\n"


@pytest.mark.heavy
def test_the_estimate_finds_the_known_game(data, known_game):
    flags = {"orders": 48, "window": 4, "panel_a": 8, "panel_b": 0}
    estimate, truth = known_game(
        "livemath", data, SKILL, flags, split="all", competences=read_competences, needs=find_needed_competences
    )
    assert estimate.anchors.full.value == 1.0
    assert 0.9 <= estimate.closure.ratio <= 1.1
    for unit in estimate.units:
        assert abs(unit.net.value - truth[unit.id]) <= 4 * unit.standard_error + 1e-9, unit.id
    tea = estimate.units[-1]
    assert tea.net.value == 0.0
    assert truth[tea.id] == pytest.approx(0.0)
