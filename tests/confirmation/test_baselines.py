"""The baselines: Closure-LOO, the judge that reads one unit at a time, and chance."""

import numpy as np
import pytest

from skillsv.confirmation.baselines import (
    closure_loo,
    closure_loo_requests,
    judge_ranking,
    judge_tasks,
    random_ranking,
    read_score,
)
from skillsv.errors import RecordsError
from skillsv_bench.planted import Noise, SharedNoise, answer_requests, planted_skill
from skillsv_bench.planted.game import Role


@pytest.fixture(scope="module")
def compiled():
    return planted_skill("mechanism").compiled


def test_each_question_to_the_judge_shows_one_unit(compiled):
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
def test_read_score_finds_the_last_number_from_0_to_100(answer, score):
    assert read_score(answer) == score


def test_a_unit_without_a_score_is_in_the_middle_and_in_a_note(compiled):
    missing, *rest = compiled.execution
    ranking = judge_ranking(compiled, {missing: None, **dict.fromkeys(rest, 0.9)})
    assert ranking.values[missing].value == 0.5
    assert {ranking.values[unit].value for unit in rest} == {0.9}
    assert any(missing in note for note in ranking.notes)


def test_a_random_ranking_is_repeatable_and_has_all_units(compiled):
    first, again = (random_ranking(compiled, np.random.default_rng(3)) for _ in range(2))
    assert first == again
    assert tuple(first.values) == compiled.execution
    assert first != random_ranking(compiled, np.random.default_rng(4))


@pytest.fixture
def mechanism():
    return planted_skill("mechanism")


def values(game):
    tasks = [task.id for task in game.tasks]
    shared_noise = SharedNoise.draw(game, np.random.default_rng(0))
    answers = answer_requests(
        game, closure_loo_requests(game.compiled, tasks), noise=Noise(), shared_noise=shared_noise
    )
    return closure_loo(game.compiled, tasks, answers), answers, tasks


def test_closure_loo_misses_an_or_pair_and_counts_an_and_pair_twice(mechanism):
    ranking, _, _ = values(mechanism)
    by_role = {
        role: [ranking.values[unit].value for unit in mechanism.role_of if mechanism.role_of[unit] is role]
        for role in Role
    }
    assert by_role[Role.OR] == [0.0, 0.0]
    assert by_role[Role.AND] == [0.25, 0.25]  # each gets all that the pair is worth
    assert by_role[Role.HARMFUL] == [-0.25]
    assert by_role[Role.DEAD] == [0.0]


def test_closure_loo_removes_a_unit_with_all_that_needs_it():
    game = planted_skill("livemath", 1)
    compiled = game.compiled
    lead = next(unit for unit in compiled.execution if compiled.needed_by[unit])
    coalitions = {request.coalition for request in closure_loo_requests(compiled, ["t"])}
    without = compiled.everything - compiled.reverse_closure(frozenset({lead}))
    assert without in coalitions
    assert len(compiled.everything - without) > 1
    for coalition in coalitions:
        assert compiled.closure(coalition) == coalition


def test_closure_loo_requests_the_full_skill_once_per_task(mechanism):
    requests = closure_loo_requests(mechanism.compiled, ["t0", "t1"])
    assert len(requests) == len(set(requests)) == 2 * (1 + len(mechanism.compiled.execution))


def test_closure_loo_leaves_out_a_task_with_a_missing_score(mechanism):
    ranking, answers, tasks = values(mechanism)
    unit = mechanism.compiled.execution[4]  # worth 8 of the 32 tasks
    incomplete = dict(answers)
    for request in answers:
        if request.task in tasks[:16] and unit not in request.coalition:
            incomplete[request] = None
    second = closure_loo(mechanism.compiled, tasks, incomplete)
    assert ranking.values[unit].value == 8 / 32
    assert second.values[unit].value == 8 / 16


def test_closure_loo_without_any_pair_of_scores_is_refused(mechanism):
    _, answers, tasks = values(mechanism)
    with pytest.raises(RecordsError, match="says nothing"):
        closure_loo(mechanism.compiled, tasks, dict.fromkeys(answers))


def test_closure_loo_on_one_task_has_the_widest_interval(mechanism):
    _, answers, tasks = values(mechanism)
    one = closure_loo(mechanism.compiled, tasks[:1], answers)
    assert {(row.low, row.high) for row in one.values.values()} == {(-1.0, 1.0)}
