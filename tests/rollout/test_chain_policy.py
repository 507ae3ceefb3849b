"""Algorithm 1 as a policy: its properties on any game."""

from itertools import pairwise
from math import fsum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import BOTH, TRIGGER, plan

from skillsv.errors import SettingsError
from skillsv.model.coalition import ChainPlan, Operator
from skillsv.model.task import TaskWindow
from skillsv.rollout.chain_policy import chain_policy, within


def answer(policy, game):
    """Run a policy on a game in memory; returns its result and the batches that it requested."""
    batches = []
    try:
        requests = next(policy)
        while True:
            batches.append(requests)
            # Answers arrive in another order than the requests: the policy must not depend on it.
            requests = policy.send({request: game(request) for request in reversed(requests)})
    except StopIteration as end:
        return end.value, batches


@st.composite
def games(draw, *, missing=False, tolerance=None):
    """A chain and a score for every possible request. The full skill is the same under all operators."""
    n, b = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    operators = draw(st.sampled_from([(Operator.DELETE,), BOTH, (Operator.PAD, Operator.DELETE)]))
    execution = draw(st.permutations([f"u{index}" for index in range(1, n)]))
    order = (TRIGGER, *execution)
    tau = draw(tolerance) if tolerance is not None else None
    chain = ChainPlan(
        index=draw(st.integers(0, 50)),
        order=order,
        window=TaskWindow(tasks=tuple(f"t{index}" for index in range(b))),
        operators=operators,
        tolerance=tau,
        replicate=draw(st.integers(0, 3)),
    )
    score = st.sampled_from([0.0, 0.25, 0.5, 1.0, *([None] if missing else [])])
    known: dict[tuple[frozenset[str], str, str], float | None] = {}
    everything = frozenset(order)

    def game(request):
        operator = "any" if request.coalition in (everything, frozenset()) else request.operator
        return known.setdefault((request.coalition, operator, request.task), draw(score))

    return chain, game


def mean(scores):
    return fsum(scores) / len(scores)


def score_rows(record, operator):
    """Rows of scores for one operator, from {m} to the last prefix."""
    steps = [step for step in record.steps if step.operator is operator]
    return [record.trigger[record.plan.operators.index(operator)], *(step.scores for step in steps)]


@settings(deadline=None)
@given(games())
def test_marginals_of_an_untruncated_chain_telescope_to_the_content_lift(case):
    chain, game = case
    record, _ = answer(chain_policy(chain, TRIGGER), game)
    assert record.truncated_at is None
    for operator in chain.operators:
        rows = score_rows(record, operator)
        assert len(rows) == len(chain.order)
        for task in range(len(chain.window.tasks)):
            marginals = [after[task] - before[task] for before, after in pairwise(rows)]
            assert fsum(marginals) == record.full[task] - rows[0][task]


@settings(deadline=None)
@given(games(tolerance=st.sampled_from([0.0, 0.05, 0.1, 0.3])))
def test_truncation_waits_for_all_operators_and_leaves_at_most_tau(case):
    chain, game = case
    record, _ = answer(chain_policy(chain, TRIGGER), game)
    rows = {operator: score_rows(record, operator)[1:] for operator in chain.operators}
    lengths = {len(steps) for steps in rows.values()}
    assert len(lengths) == 1, "operators advance together"
    close = [
        all(
            abs(mean(rows[operator][at]) - mean(record.full)) <= chain.tolerance + 1e-12 for operator in chain.operators
        )
        for at in range(lengths.pop())
    ]
    if record.truncated_at is None:
        assert not any(close[: len(chain.order) - 2])
    else:
        assert close.index(True) == record.truncated_at - 1 == len(close) - 1
        for operator in chain.operators:
            assert abs(mean(record.full) - mean(rows[operator][-1])) <= chain.tolerance + 1e-12


@settings(deadline=None)
@given(games(missing=True, tolerance=st.sampled_from([None, 0.1])), st.integers(0, 4))
def test_speculation_changes_what_is_asked_but_never_the_record(case, speculate):
    chain, game = case
    plain, asked = answer(chain_policy(chain, TRIGGER), game)
    ahead, asked_ahead = answer(chain_policy(chain, TRIGGER, speculate=speculate), game)
    assert ahead == plain
    assert set().union(*asked) <= set().union(*asked_ahead)
    if speculate == 0:
        assert asked == asked_ahead


@settings(deadline=None)
@given(games(missing=True, tolerance=st.sampled_from([None, 0.1])))
def test_every_coalition_is_scored_on_the_same_window(case):
    chain, game = case
    record, batches = answer(chain_policy(chain, TRIGGER), game)
    wanted = {}
    for request in (request for batch in batches for request in batch):
        assert request.replicate == chain.replicate
        wanted.setdefault((request.coalition, request.operator, request.why), []).append(request.task)
    assert all(tuple(tasks) == chain.window.tasks for tasks in wanted.values())
    full = [game(request) for request in batches[0] if request.why == "anchor:full"]
    assert list(record.full) == full
    for step in record.steps:
        assert len(step.scores) == len(chain.window.tasks)


@settings(deadline=None)
@given(games(tolerance=st.sampled_from([None, 0.1])))
def test_the_number_of_rollouts_follows_the_papers_formula(case):
    chain, game = case
    record, batches = answer(chain_policy(chain, TRIGGER), game)
    asked = sum(map(len, batches))
    n, b, many = len(chain.order), len(chain.window.tasks), len(chain.operators)
    evaluated = record.truncated_at if record.truncated_at is not None else max(0, n - 2)
    assert asked == b * (2 + many + many * evaluated)


def test_anchors_come_first_and_the_last_prefix_is_the_anchor():
    record, batches = answer(chain_policy(plan(n=4, b=2), TRIGGER), lambda request: float(len(request.coalition) > 2))
    assert {request.why for request in batches[0]} == {"anchor:empty", "anchor:trigger", "anchor:full"}
    assert [(request.operator, len(request.coalition)) for request in batches[0][::2]] == [
        ("delete", 0),
        ("delete", 1),
        ("pad", 1),
        ("delete", 4),
    ]
    assert all(0 < len(request.coalition) < 4 for batch in batches[1:] for request in batch)
    assert [step.scores for step in record.steps[-2:]] == [record.full, record.full]
    assert [step.position for step in record.steps] == [1, 1, 2, 2, 3, 3]


def test_a_chain_is_never_truncated_before_the_first_unit():
    record, _ = answer(chain_policy(plan(n=5, tolerance=0.05), TRIGGER), lambda request: 1.0)
    assert record.truncated_at == 1
    assert {step.unit for step in record.steps} == {"u1"}


def test_one_operator_within_tolerance_is_not_enough():
    def game(request):
        return float(request.operator is Operator.DELETE or len(request.coalition) in (0, 5))

    record, _ = answer(chain_policy(plan(n=5, tolerance=0.05), TRIGGER), game)
    assert record.truncated_at is None
    alone, _ = answer(chain_policy(plan(n=5, tolerance=0.05, operators=(Operator.DELETE,)), TRIGGER), game)
    assert alone.truncated_at == 1


def test_steps_name_the_rendered_trees_if_requested():
    policy = chain_policy(plan(n=3, b=1), TRIGGER, tree_of=lambda units, how: f"{how}:{'+'.join(sorted(units))}")
    record, _ = answer(policy, lambda request: 0.0)
    assert [step.tree for step in record.steps] == ["delete:m+u1", "pad:m+u1", "delete:m+u1+u2", "pad:m+u1+u2"]


@pytest.mark.parametrize(
    ("scores", "full", "tolerance", "held"),
    [
        ((1.0,) * 7 + (0.0,) * 3, (1.0,) * 8 + (0.0,) * 2, 0.1, True),  # 0.8 - 0.7 is a hair above 0.1 in floats
        ((1.0, None, None, None), (1.0, 1.0, 1.0, 1.0), 0.5, False),  # one known pair of four says too little
        ((1.0, 1.0, None, 0.0), (1.0, 1.0, 1.0, None), 0.0, True),  # over the tasks known on both sides
        ((None,), (None,), 1.0, False),
    ],
)
def test_tolerance_compares_tasks_scored_on_both_sides(scores, full, tolerance, held):
    assert within(scores, full, tolerance) is held


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"order": ("u1", "m")}, "trigger"),
        ({"order": ("m", "u1", "u1")}, "twice"),
        ({"window": TaskWindow(tasks=())}, "empty"),
        ({"window": TaskWindow(tasks=("t", "t"))}, "twice"),
        ({"operators": ()}, "operators"),
    ],
)
def test_an_invalid_plan_is_refused_before_any_request(change, word):
    from dataclasses import replace

    with pytest.raises(SettingsError, match=word):
        next(chain_policy(replace(plan(), **change), TRIGGER))
