from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import skillsv.estimate.adaptive.operator_values as values_module
from skillsv.errors import RecordsError
from skillsv.estimate import EstimateOptions
from skillsv.estimate.adaptive import compute_values, count_averaged_orders, estimate_adaptive
from skillsv.estimate.adaptive.estimate import _scope_intervals
from skillsv.estimate.adaptive.observations import ScoredCoalitions
from skillsv.estimate.adaptive.values import ValueDraws, count_samples
from skillsv.model.coalition import AdaptiveReason, Operator
from skillsv.model.value import Evidence
from skillsv.rollout.adaptive import AdaptiveOptions, MaxRollouts, adaptive_policy
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill

BOTH = (Operator.DELETE, Operator.PAD)


def played(kind, noise, budget, seed=1, operators=(Operator.DELETE,), crowding=0.0):
    game = planted_skill(kind, seed)
    problem = make_adaptive_problem(game, operators)
    player = Player(game, noise, seed, crowding=crowding)
    record = play_adaptive(problem, player, AdaptiveOptions(stop=MaxRollouts(budget)), seed)
    rng = np.random.default_rng(seed)
    return game, record.observations, [problem.sample_order(rng) for _ in range(400)]


@pytest.mark.heavy
def test_a_deterministic_game_gives_the_true_values_and_closure():
    game, seen, orders = played("mechanism", Noise(), 3000)
    estimate = estimate_adaptive(game.compiled, seen, orders)
    values = np.array([unit.net.value for unit in estimate.units])
    assert values == pytest.approx(game.truth(Noise()), abs=0.02)
    assert estimate.closure.sum.value == pytest.approx(estimate.content_lift.value)
    assert estimate.anchors.full.low == estimate.anchors.full.value == estimate.anchors.full.high
    assert estimate.closure.covered
    assert estimate.method == "auto"


def double_best_unit(estimate_values, scored, tasks, *rest):
    """Double the largest value."""
    found = estimate_values(scored, tasks, *rest)
    factor = np.where(np.arange(len(found.values)) == found.values.argmax(), 2.0, 1.0)
    return replace(found, values=factor * found.values, draws=factor * found.draws)


def leave_out(estimate_values, scored, dropped, tasks, *rest):
    """Estimate without some of the observations."""
    known = ~dropped
    kept = replace(scored, present=scored.present[known], task=scored.task[known], score=scored.score[known])
    return estimate_values(kept, tasks, *rest)


def drop_failures(estimate_values, scored, tasks, *rest):
    """Leave out the rollouts that scored 0."""
    return leave_out(estimate_values, scored, scored.score == 0, tasks, *rest)


def drop_first_tasks(estimate_values, scored, tasks, *rest):
    """Leave out all rollouts on half of the tasks."""
    return leave_out(estimate_values, scored, scored.task < tasks // 2, tasks, *rest)


STEADY, NOISY = Noise(), Noise(temperature=0.5)
RUNS = {
    "mechanism-steady": ("mechanism", STEADY, 600),
    "spreadsheet-steady": ("spreadsheet", STEADY, 1200),
    "mechanism-noisy": ("mechanism", NOISY, 2400),
    "spreadsheet-noisy": ("spreadsheet", NOISY, 2400),
}


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("mistake", "run"),
    [
        *((double_best_unit, run) for run in RUNS),
        # With noise the 32 tasks of the mechanism game are too few: the gap covers zero for one of the three seeds.
        *((drop_failures, run) for run in RUNS if run != "mechanism-noisy"),
        # The model of a noisy agent predicts the tasks that are left out from the others, and nearly the same sum.
        *((drop_first_tasks, run) for run in RUNS if run.endswith("steady")),
    ],
)
def test_closure_catches_a_wrong_estimator(mistake, run, seed, monkeypatch):
    game, seen, orders = played(*RUNS[run], seed)
    assert estimate_adaptive(game.compiled, seen, orders).closure.covered
    for name in ("steady_values", "noisy_values"):
        monkeypatch.setattr(values_module, name, partial(mistake, getattr(values_module, name)))
    assert not estimate_adaptive(game.compiled, seen, orders).closure.covered


@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5)], ids=["steady", "noisy"])
def test_content_is_net_plus_cost_to_the_last_bit(noise):
    game, seen, orders = played("mechanism", noise, 1200, operators=BOTH, crowding=0.5)
    for unit in estimate_adaptive(game.compiled, seen, orders).units:
        assert unit.content is not None
        assert unit.cost is not None
        assert unit.content.value == unit.net.value + unit.cost.value


def test_padding_that_changes_nothing_costs_nothing():
    game, seen, orders = played("mechanism", Noise(), 1500, operators=BOTH)
    for unit in estimate_adaptive(game.compiled, seen, orders).units:
        assert unit.cost is not None
        assert unit.cost.value == pytest.approx(0.0, abs=1e-12)
        assert unit.cost.covers(0.0)


@pytest.mark.heavy
@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5), Noise(lapse=0.08)], ids=["T=0", "T=.5", "lapse"])
def test_intervals_hold_the_true_values_as_often_as_their_level(noise):
    covered = []
    for seed in range(4):
        game, seen, orders = played("officeqa", noise, 1200, seed=seed)
        units = estimate_adaptive(game.compiled, seen, orders).units
        truth = game.truth(noise)
        covered += [
            unit.net.low - 1e-9 <= value <= unit.net.high + 1e-9 for unit, value in zip(units, truth, strict=True)
        ]
    assert np.mean(covered) > 0.86


def test_the_same_observations_give_the_same_estimate():
    game, seen, orders = played("mechanism", Noise(temperature=0.5), 700)
    assert estimate_adaptive(game.compiled, seen, orders) == estimate_adaptive(game.compiled, seen, orders)


def test_missing_scores_are_counted_and_left_out():
    game, seen, orders = played("mechanism", Noise(), 600)
    gaps = [
        replace(observation, score=None) if place % 7 == 0 else observation for place, observation in enumerate(seen)
    ]
    estimate = estimate_adaptive(game.compiled, gaps, orders)
    assert estimate.missing == len(range(0, len(seen), 7))
    assert any("left out" in note for note in estimate.notes)
    assert estimate.anchors.trigger.low < estimate.anchors.trigger.high


def test_anchors_alone_leave_every_unit_unresolved():
    game, seen, orders = played("mechanism", Noise(), 64)
    assert {unit.evidence for unit in estimate_adaptive(game.compiled, seen, orders).units} == {Evidence.UNRESOLVED}


def test_a_unit_that_renders_the_same_bytes_is_identical():
    game, seen, orders = played("mechanism", Noise(), 300)
    unit = game.compiled.execution[2]
    options = EstimateOptions(identical=frozenset({unit}))
    assert estimate_adaptive(game.compiled, seen, orders, options).unit(unit).evidence is Evidence.IDENTICAL


def test_open_tasks_names_every_task_with_a_weight():
    game, seen, orders = played("mechanism", Noise(), 400)
    weights = compute_values(game.compiled, seen, orders).open_tasks
    assert set(weights) == {task.id for task in game.tasks}
    assert min(weights.values()) >= 0


def test_unusable_observations_raise_an_error():
    game, seen, orders = played("mechanism", Noise(), 100)
    with pytest.raises(RecordsError, match="no rollout has a score"):
        estimate_adaptive(game.compiled, [replace(observation, score=None) for observation in seen], orders)
    with pytest.raises(RecordsError, match="does not have"):
        estimate_adaptive(game.compiled, [replace(seen[0], coalition=frozenset({"nobody"}))], orders)
    with pytest.raises(RecordsError, match="between 0 and 1"):
        estimate_adaptive(game.compiled, [replace(seen[0], score=7.0)], orders)
    with pytest.raises(RecordsError, match="orders"):
        estimate_adaptive(game.compiled, seen, [])


def coverage_where_tasks_need_many_units(seed, budget=4800, useful_units=10):
    """Whether the interval of each useful unit holds its true value, up to three standard errors of the truth.

    A task is passed if all of five to eight units are present, drawn from ten useful ones.
    """
    game = planted_skill("alfworld", seed)
    problem, rng = make_adaptive_problem(game), np.random.default_rng(seed)
    useful = rng.choice(problem.units, size=useful_units, replace=False).tolist()
    needs = {task: set(rng.choice(useful, size=rng.integers(5, 9), replace=False)) for task in problem.tasks}

    def answer(wanted):
        return {request: float(needs[request.task] <= request.coalition) for request in wanted}

    record = play_with(answer, problem, budget, seed)
    orders = [problem.sample_order(rng) for _ in range(3000)]
    last = np.array([[max(order.index(unit) for unit in needs[task]) for task in problem.tasks] for order in orders])
    gains = {unit: (last == np.array([order.index(unit) for order in orders])[:, None]).mean(axis=1) for unit in useful}
    values = {unit.id: unit.net for unit in estimate_adaptive(game.compiled, record, orders[:400]).units}
    slack = {unit: 3 * gain.std() / np.sqrt(len(orders)) for unit, gain in gains.items()}
    return [values[unit].low - slack[unit] <= gains[unit].mean() <= values[unit].high + slack[unit] for unit in useful]


def play_with(answer, problem, budget, seed):
    policy = adaptive_policy(problem, AdaptiveOptions(stop=MaxRollouts(budget)), seed)
    try:
        wanted = next(policy)
        while True:
            wanted = policy.send(answer(wanted))
    except StopIteration as done:
        return done.value.observations


@pytest.mark.heavy
def test_intervals_hold_where_tasks_need_many_units_at_once():
    covered = [truth for seed in range(5) for truth in coverage_where_tasks_need_many_units(seed)]
    assert sum(covered) >= 0.95 * len(covered)


def test_anchors_alone_give_ranges_and_no_values():
    game, seen, orders = played("mechanism", Noise(), 96)
    estimate = estimate_adaptive(game.compiled, seen, orders)
    assert estimate.content_lift.value == pytest.approx(0.5)
    for unit, value in zip(estimate.units, game.truth(Noise()), strict=True):
        assert not unit.has_value
        assert unit.evidence is Evidence.UNRESOLVED
        assert unit.net.high - unit.net.low > 1.5
        assert -1.0 <= unit.net.low <= value <= unit.net.high <= 1.0
        assert unit.net_or_zero.value == 0.0
    assert all(np.isnan(section.net.value) for section in estimate.sections)


def test_a_unit_that_decides_no_task_has_no_value_while_most_changes_are_untraced():
    game, seen, orders = played("mechanism", Noise(), 128)
    units = estimate_adaptive(game.compiled, seen, orders).units
    assert [unit.has_value for unit in units].count(True) == 1
    assert all(unit.samples > 0 for unit in units)
    truth = game.truth(Noise())
    assert all(unit.net.covers(value) for unit, value in zip(units, truth, strict=True) if not unit.has_value)


@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5)], ids=["steady", "noisy"])
def test_every_unit_has_a_value_at_the_least_budget(noise):
    game, seen, orders = played("officeqa", noise, 666)
    assert all(unit.has_value for unit in estimate_adaptive(game.compiled, seen, orders).units)


def test_anchors_of_a_noisy_agent_give_no_values():
    game, seen, orders = played("mechanism", Noise(temperature=0.5), 600)
    first = [replace(observation, why=AdaptiveReason.CLOSED_SET) for observation in seen[:64]]
    assert not any(unit.has_value for unit in estimate_adaptive(game.compiled, first, orders).units)


def test_padding_has_no_value_where_deletion_has_none():
    game, seen, orders = played("mechanism", Noise(), 96, operators=BOTH)
    for unit in estimate_adaptive(game.compiled, seen, orders).units:
        assert not unit.has_value
        assert (unit.content.low, unit.content.high) == (unit.cost.low, unit.cost.high) == (-1.0, 1.0)


def test_the_interval_on_tasks_like_these_is_the_wider_one():
    game, seen, orders = played("livemath", Noise(), 600)
    estimate = estimate_adaptive(game.compiled, seen, orders)
    for unit in estimate.units:
        assert unit.net.value == unit.net_panel.value
        assert unit.net.high - unit.net.low > unit.net_panel.high - unit.net_panel.low
    assert {unit.tasks for unit in estimate.units} == {len(game.tasks)}


def test_tasks_of_the_panel_that_were_not_asked_widen_its_interval():
    game, seen, orders = played("livemath", Noise(temperature=0.5), 300)
    asked = len({observation.task for observation in seen})
    some, many = (
        estimate_adaptive(game.compiled, seen, orders, EstimateOptions(panel=panel)).units
        for panel in (asked, 3 * asked)
    )
    for few_left, most_left in zip(some, many, strict=True):
        assert few_left.on_panel.high <= most_left.on_panel.high <= most_left.net.high + 1e-12


def test_a_single_noisy_task_is_valued_by_the_model_and_the_others_by_tables():
    game, seen, orders = played("livemath", Noise(), 600)
    task = seen[0].task
    mixed = [
        replace(one, why=AdaptiveReason.NOISY_TASK, score=float(place % 2)) if one.task == task else one
        for place, one in enumerate(seen)
    ]
    steady = compute_values(game.compiled, seen, orders).net
    joined = compute_values(game.compiled, mixed, orders).net
    others = np.array([name != task for name in dict.fromkeys(one.task for one in seen)])
    assert joined.task_values[others] == pytest.approx(steady.task_values[others])
    assert joined.values == pytest.approx(joined.task_values.mean(axis=0))
    assert joined.task_values[~others] != pytest.approx(steady.task_values[~others])


def test_a_unit_that_changed_no_score_is_idle():
    game, seen, orders = played("mechanism", Noise(), 600)
    units = estimate_adaptive(game.compiled, seen, orders, EstimateOptions(resolution=0.03)).units
    truth = game.truth(Noise())
    idle = [value for unit, value in zip(units, truth, strict=True) if unit.evidence is Evidence.IDLE]
    assert idle == pytest.approx([0.0], abs=1e-9)


def test_fewer_orders_are_averaged_for_hundreds_of_units():
    assert [count_averaged_orders(units) for units in (0, 16, 100, 250, 1800)] == [1000, 1000, 1000, 400, 200]


def drawn(*columns):
    """Values with these draws, a column for each unit."""
    draws = np.array(columns, dtype=np.float64).T
    tasks = np.zeros((1, draws.shape[1]))
    return ValueDraws(
        values=draws.mean(axis=0),
        draws=draws,
        task_values=tasks,
        task_variance=tasks,
        task_sums=np.zeros(1),
        separated=np.ones(draws.shape[1], dtype=np.bool_),
    )


def test_the_interval_of_a_noisy_agent_reaches_as_far_as_its_rare_draws():
    rarely_large, rarely_harmful = [0.05] * 4 + [0.0] * 76, [-0.05] * 4 + [0.0] * 76
    net = drawn(rarely_large, rarely_harmful)
    steady, noisy = (_scope_intervals(net, net.standard_error, 0.95, noisy=noisy) for noisy in (False, True))
    assert (steady[0].high, -steady[1].low) == (pytest.approx(0.0239, abs=1e-4),) * 2
    assert (noisy[0].high, -noisy[1].low) == (pytest.approx(0.05, abs=1e-6),) * 2
    assert (noisy[0].low, noisy[1].high) == (steady[0].low, steady[1].high)
    assert [one.value for one in noisy] == [one.value for one in steady]


def test_the_interval_of_a_noisy_agent_is_never_narrower_and_stays_in_range():
    rng = np.random.default_rng(3)
    net = drawn(*(0.3 * rng.standard_normal((20, 80)) + rng.uniform(-1.0, 1.0, (20, 1))))
    error = 1.5 * net.standard_error
    pairs = zip(*(_scope_intervals(net, error, 0.9, noisy=noisy) for noisy in (False, True)), strict=True)
    assert all(-1.0 <= noisy.low <= steady.low and steady.high <= noisy.high <= 1.0 for steady, noisy in pairs)


def test_anchors_count_for_units_that_every_order_puts_first_or_last():
    rows = [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    scored = ScoredCoalitions(
        present=np.array(rows, dtype=np.bool_), task=np.zeros(len(rows), dtype=np.int64), score=np.zeros(len(rows))
    )
    fixed = np.array([[0, 1, 2, 3], [0, 2, 1, 3]])
    free = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    assert count_samples(scored, fixed).tolist() == [1, 2, 2, 2]
    assert count_samples(scored, free).tolist() == [0, 2, 2, 0]
