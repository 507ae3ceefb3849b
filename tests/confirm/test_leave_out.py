"""Closure-LOO: what goes with a unit, what the differences are, what is said when nothing is known."""

import numpy as np
import pytest

from skillsv.confirm.baselines import closure_loo, closure_loo_requests
from skillsv.errors import RecordsError
from skillsv_bench.planted import Dice, Noise, answer_requests, planted_skill
from skillsv_bench.planted.game import Role


@pytest.fixture
def mechanism():
    return planted_skill("mechanism")


def values(game):
    tasks = [task.id for task in game.tasks]
    dice = Dice.thrown(game, np.random.default_rng(0))
    answers = answer_requests(game, closure_loo_requests(game.compiled, tasks), noise=Noise(), dice=dice)
    return closure_loo(game.compiled, tasks, answers), answers, tasks


def test_it_misses_the_or_pair_and_counts_the_and_pair_twice(mechanism):
    found, _, _ = values(mechanism)
    by_role = {
        role: [found.values[unit].value for unit in mechanism.role_of if mechanism.role_of[unit] is role]
        for role in Role
    }
    assert by_role[Role.OR] == [0.0, 0.0]
    assert by_role[Role.AND] == [0.25, 0.25]  # each gets all that the pair is worth
    assert by_role[Role.HARMFUL] == [-0.25]
    assert by_role[Role.DEAD] == [0.0]


def test_a_unit_goes_with_all_that_need_it():
    game = planted_skill("livemath", 1)
    compiled = game.compiled
    lead = next(unit for unit in compiled.execution if compiled.needed_by[unit])
    wanted = {request.coalition for request in closure_loo_requests(compiled, ["t"])}
    without = compiled.everything - compiled.reverse_closure(frozenset({lead}))
    assert without in wanted
    assert len(compiled.everything - without) > 1
    for coalition in wanted:
        assert compiled.closure(coalition) == coalition


def test_the_whole_skill_is_asked_for_once(mechanism):
    wanted = closure_loo_requests(mechanism.compiled, ["t0", "t1"])
    assert len(wanted) == len(set(wanted)) == 2 * (1 + len(mechanism.compiled.execution))


def test_a_missing_score_drops_its_pair(mechanism):
    found, answers, tasks = values(mechanism)
    unit = mechanism.compiled.execution[4]  # worth 8 of the 32 tasks
    holed = dict(answers)
    for request in answers:
        if request.task in tasks[:16] and unit not in request.coalition:
            holed[request] = None
    again = closure_loo(mechanism.compiled, tasks, holed)
    assert found.values[unit].value == 8 / 32
    assert again.values[unit].value == 8 / 16


def test_no_pair_at_all_is_a_sentence(mechanism):
    _, answers, tasks = values(mechanism)
    with pytest.raises(RecordsError, match="says nothing"):
        closure_loo(mechanism.compiled, tasks, dict.fromkeys(answers))


def test_one_task_bounds_nothing(mechanism):
    _, answers, tasks = values(mechanism)
    one = closure_loo(mechanism.compiled, tasks[:1], answers)
    assert {(row.low, row.high) for row in one.values.values()} == {(-1.0, 1.0)}
