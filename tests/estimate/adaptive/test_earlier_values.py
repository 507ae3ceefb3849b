"""What a steady agent's values take from earlier agents."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored_agents import FIRST, TASKS, UNITS, contradicted_by, needs, scored

from skillsv.estimate import EstimateOptions
from skillsv.estimate.adaptive import compute_values, estimate_adaptive
from skillsv.estimate.adaptive.deciding_pairs import find_steady_scores
from skillsv.estimate.adaptive.earlier_values import _pull, learn_pull
from skillsv.estimate.adaptive.steady_values import steady_values
from skillsv.extend.estimators import Sampler
from skillsv.model.coalition import AgentPrior, Operator
from skillsv.model.value import Evidence
from skillsv.rollout.adaptive import AdaptiveOptions, MaxRollouts
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.families.decided import play
from skillsv_bench.families.formulas import Formula
from skillsv_bench.families.game import draw_game
from skillsv_bench.families.noise import NOISES
from skillsv_bench.planted import Noise, planted_skill

FEW = (0, 63, 0b000111, 0b111000, 0b010101)
NOT_OPEN = np.zeros(TASKS, dtype=np.bool_)
PLACE = np.array([np.random.default_rng(order).permutation(UNITS) for order in range(50)])


def own_values(agent):
    return steady_values(agent, TASKS, PLACE, np.random.default_rng(0))


def test_nothing_is_learnt_where_one_of_the_earlier_agents_holds():
    own, other = own_values(FIRST), scored(needs(lambda task: 5))
    contradicted = contradicted_by(FIRST, [other, FIRST])
    assert learn_pull(own, contradicted, NOT_OPEN, [other, FIRST], PLACE) is None


def test_nothing_is_learnt_before_most_contradicted_tasks_are_traced():
    second = scored(needs(lambda task: task % 3 if task else 1), FEW)
    own, contradicted = own_values(second), contradicted_by(second, [FIRST])
    first = int(np.flatnonzero(contradicted)[0])
    assert learn_pull(own, contradicted, np.arange(TASKS) == first, [FIRST], PLACE) is None
    assert learn_pull(own, contradicted, ~contradicted, [FIRST], PLACE) is not None


def test_values_on_contradicted_tasks_move_towards_the_earlier_ones_and_keep_their_sum():
    second = scored(needs(lambda task: task % 3 if task else 1), FEW)
    own = own_values(second)
    contradicted = contradicted_by(second, [FIRST])
    assert contradicted.any()
    assert not contradicted.all()
    pull = learn_pull(own, contradicted, NOT_OPEN, [FIRST], PLACE)
    pulled = pull.apply(own)
    assert pulled.values.sum() == pytest.approx(own.values.sum())
    assert np.any(np.abs(pulled.values - own.values) > 1e-6)
    assert pulled.draws.mean(axis=0) == pytest.approx(pulled.values)
    assert pulled.task_values[~contradicted] == pytest.approx(own.task_values[~contradicted])
    changed = own.task_values.any(axis=0)
    assert pulled.values[changed] == pytest.approx(pulled.task_values.mean(axis=0)[changed])
    assert not pulled.task_values[:, ~changed].any(), "a unit that changed no score stays idle"
    assert pulled.standard_error == pytest.approx(pull.error_left * own.standard_error)


def test_a_unit_that_changed_no_score_is_not_moved():
    second = scored(needs(lambda task: task % 3 if task else 1), FEW)
    own, idle = own_values(second), np.arange(UNITS) == UNITS - 1
    own = replace(own, task_values=np.where(idle, 0.0, own.task_values), values=np.where(idle, 0.0, own.values))
    pulled = learn_pull(own, contradicted_by(second, [FIRST]), NOT_OPEN, [FIRST], PLACE).apply(own)
    assert pulled.values[idle].tolist() == [0.0]
    assert pulled.values[~idle] != pytest.approx(own.values[~idle])
    assert pulled.standard_error[idle] == pytest.approx(own.standard_error[idle])


numbers = st.floats(-0.2, 0.2)


@given(
    own=st.lists(numbers, min_size=4, max_size=4),
    theirs=st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=1, max_size=3),
    error=st.floats(0.0, 0.1),
)
def test_a_pulled_value_is_finite_and_keeps_the_sum(own, theirs, error):
    pulled = _pull(np.array(own), np.full(4, error), np.array(theirs), 0.3)
    values, errors = pulled
    assert values.sum() == pytest.approx(sum(own), abs=1e-9)
    assert np.all(np.isfinite(errors))
    assert np.all(errors >= 0)


def test_one_strong_disagreement_stays_where_the_own_scores_put_it():
    theirs = np.array([0.5, *np.random.default_rng(0).normal(0, 0.01, 19)])
    own, error = theirs.copy(), np.full(20, 0.02)
    own[0] = -0.5
    values, errors = _pull(own, error, theirs[None], 0.7)
    assert values[0] == pytest.approx(-0.5, abs=0.01)
    assert errors[0] == pytest.approx(0.02, rel=0.1)


def test_an_agent_whose_values_disagree_counts_little():
    rng = np.random.default_rng(0)
    truth, error = rng.normal(0, 0.05, 40), np.full(40, 0.02)
    own = truth + rng.normal(0, 0.02, 40)
    alike, unlike = truth + rng.normal(0, 0.002, 40), rng.normal(0, 0.05, 40)

    def miss(values):
        return float(np.sqrt(np.mean((values - truth) ** 2)))

    pulled = {name: _pull(own, error, np.array(theirs), 0.3) for name, theirs in {
        "alike": [alike], "both": [unlike, alike], "unlike": [unlike],
    }.items()}  # fmt: skip
    missed = {name: miss(values) / miss(own) for name, (values, _) in pulled.items()}
    errors = {name: one.mean() / 0.02 for name, (_, one) in pulled.items()}
    assert missed["alike"] < 0.6
    assert missed["both"] < 0.7
    assert missed["unlike"] < 1.15
    assert errors["alike"] < 0.6
    assert errors["unlike"] > 0.7


def test_an_estimate_reads_the_earlier_agents_scores():
    game, other = planted_skill("livemath", 1), planted_skill("livemath", 2)
    problem = make_adaptive_problem(game)
    rng = np.random.default_rng(1)
    orders = [problem.sample_order(rng) for _ in range(200)]

    def scores_of(game, budget):
        return play_adaptive(problem, Player(game, Noise(), 1), AdaptiveOptions(stop=MaxRollouts(budget)), 1)

    seen = scores_of(game, 300).observations
    alone = estimate_adaptive(game.compiled, seen, orders)
    same = (find_steady_scores(seen),)
    agreed = estimate_adaptive(game.compiled, seen, orders, EstimateOptions(earlier_scores=same))
    widths = [[unit.on_panel.high - unit.on_panel.low for unit in one.units] for one in (agreed, alone)]
    assert np.sum(widths[0]) < np.sum(widths[1]), "an agent with the same scores has searched, too"
    assert agreed.notes == alone.notes
    unlike = (find_steady_scores(scores_of(other, 300).observations),)
    told = estimate_adaptive(game.compiled, seen, orders, EstimateOptions(earlier_scores=unlike))
    assert told != alone
    assert told.closure.sum.value == pytest.approx(alone.closure.sum.value)
    assert any("earlier agents" in note for note in told.notes)
    idle = [{unit.id for unit in estimate.units if unit.evidence is Evidence.IDLE} for estimate in (alone, told)]
    assert idle[1] <= idle[0]


def test_both_operators_move_alike_so_that_the_context_cost_stays():
    game, other = planted_skill("livemath", 1), planted_skill("livemath", 2)
    problem = make_adaptive_problem(game, (Operator.DELETE, Operator.PAD))
    rng = np.random.default_rng(1)
    orders = [problem.sample_order(rng) for _ in range(200)]
    seen, unlike = (
        play_adaptive(problem, Player(one, Noise(), 1), AdaptiveOptions(stop=MaxRollouts(400)), 1).observations
        for one in (game, other)
    )
    options = EstimateOptions(earlier_scores=(find_steady_scores(unlike),))
    alone, told = (compute_values(game.compiled, seen, orders, *more) for more in ((), (options,)))
    assert told.contradicted
    assert np.any(np.abs(told.net.values - alone.net.values) > 1e-6)
    assert told.padded.minus(told.net).values == pytest.approx(alone.padded.minus(alone.net).values)


def game_of(decide, seed):
    """A game in which one unit decides each task: its number, and by which sign."""
    game = draw_game("sparse", seed, units=20, tasks=40)
    formulas = []
    for unit, sign in map(decide, range(40)):
        main = np.zeros(20)
        main[unit] = 2.0 * sign
        formulas.append(Formula(base=-1.0 * sign, main=main))
    return replace(game, formulas=tuple(formulas))


def informed(first, second, budget):
    """The estimate of the second agent after so many rollouts that knew the first one's scores."""
    earlier = (find_steady_scores(play(first, "deterministic", 800).observations),)
    record = play(second, "deterministic", budget, prior=AgentPrior(scores=earlier))
    sampler = Sampler(second.compiled)
    orders = [sampler.sample(np.random.default_rng([1, index])) for index in range(300)]
    return estimate_adaptive(second.compiled, record.observations, orders, EstimateOptions(earlier_scores=earlier))


@pytest.mark.heavy
@pytest.mark.parametrize("budget", [300, 400, 600])
@pytest.mark.parametrize(("weight", "base"), [(1.0, -1.5), (2.0, -1.0)], ids=["needed besides", "enough as well"])
def test_intervals_hold_where_another_unit_matters_besides_on_half_of_the_tasks(weight, base, budget):
    others = np.random.default_rng(4).integers(1, 20, size=40)
    first = game_of(lambda task: (others[task], 1), 6)
    formulas = []
    for task, formula in enumerate(first.formulas):
        main = formula.main.copy()
        if task < 20:
            main[[0, others[task]]] = weight
        formulas.append(replace(formula, main=main, base=base if task < 20 else formula.base))
    second = replace(first, formulas=tuple(formulas), seed=1006)
    truth = second.truth(NOISES["T=0"])
    units = informed(first, second, budget).units
    assert units[0].on_panel.low <= truth[0] <= units[0].on_panel.high
    inside = [
        unit.on_panel.low - 1e-9 <= value <= unit.on_panel.high + 1e-9 for unit, value in zip(units, truth, strict=True)
    ]
    assert np.mean(inside) >= 0.9


@pytest.mark.heavy
@pytest.mark.parametrize("budget", [200, 250, 300, 400])
@pytest.mark.parametrize("turned", ["harms the second agent", "replaced by another unit"])
def test_intervals_hold_where_one_unit_differs_on_most_tasks(turned, budget):
    others = np.random.default_rng(3).integers(2, 20, size=40)
    first = game_of(lambda task: (0, 1) if task < 28 else (others[task], 1), 5)
    unlike = (0, -1) if turned == "harms the second agent" else (1, 1)
    second = replace(game_of(lambda task: unlike if task < 28 else (others[task], 1), 5), seed=1005)
    estimate = informed(first, second, budget)
    truth = second.truth(NOISES["T=0"])
    for unit, value in zip(estimate.units, truth, strict=True):
        assert unit.on_panel.low - 1e-9 <= value <= unit.on_panel.high + 1e-9
        if unit.evidence in (Evidence.POSITIVE, Evidence.NEGATIVE):
            assert (value > 0) == (unit.evidence is Evidence.POSITIVE)
