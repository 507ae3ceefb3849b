"""The judge sees one unit at a time, and its answers become a ranking of the same units."""

import numpy as np
import pytest

from skillsv.confirm.baselines import judge_ranking, judge_tasks, random_ranking, read_score
from skillsv_bench.planted import planted_skill


@pytest.fixture(scope="module")
def compiled():
    return planted_skill("mechanism").compiled


def test_each_question_shows_its_unit_and_no_other(compiled):
    questions = judge_tasks(compiled)
    assert tuple(questions) == compiled.execution
    for number, question in enumerate(questions.values(), start=1):
        assert f"[rule-{number:02d}]" in question.input
        assert question.input.count("[rule-") == 1
        assert "{{" not in question.input
        assert "planted-mechanism" in question.input


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("80", 0.8),
        ("Score: 35/100", 0.35),
        ("20 out of 100", 0.2),
        ("I would say 35.", 0.35),
        ("none", None),
        ("1234", None),
        ("101 then 7", 0.07),
    ],
)
def test_scores_are_read_from_words(answer, score):
    assert read_score(answer) == score


def test_an_answer_without_a_score_is_named(compiled):
    silent, *rest = compiled.execution
    ranking = judge_ranking(compiled, dict.fromkeys(rest, "90"))
    assert ranking.values[silent].value == 0.5
    assert any(silent in note for note in ranking.notes)
    assert ranking.ascending()[0] == silent


def test_random_is_repeatable_and_ranks_all_units(compiled):
    first, again = (random_ranking(compiled, np.random.default_rng(3)) for _ in range(2))
    assert first == again
    assert tuple(first.values) == compiled.execution
    assert first != random_ranking(compiled, np.random.default_rng(4))
