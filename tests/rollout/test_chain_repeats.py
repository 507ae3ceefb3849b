"""Repeats in a chain run: where they are drawn, the waves of chains, and the replicate numbers."""

import pytest
from worlds import BOTH, TRIGGER, World, plan

from skillsv.model.coalition import Operator
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.chain_repeats import (
    anchors_to_repeat,
    most_repeats,
    prefixes_to_repeat,
    rollouts_to_repeat,
    waves,
    with_replicates,
)
from skillsv.rollout.forecast import forecast
from skillsv.rollout.noise_check import Noise, check_noise

NOISY = Noise(repeated={(frozenset(), Operator.DELETE, "t0"): True})
PLANS = [plan(n=9, b=6, index=index, rotate=3 * index) for index in range(12)]


def scored(record):
    """Coalition and task of every rollout of a chain."""
    order = record.plan.order
    reached = len(order) if record.truncated_at is None else record.truncated_at + 1
    coalitions = {frozenset(), frozenset(order), *(frozenset(order[:length]) for length in range(1, reached + 1))}
    return {(coalition, task) for coalition in coalitions for task in record.plan.window.tasks}


def test_repeats_before_the_chains_have_many_sizes_and_are_prefixes_of_the_orders():
    requests = [*anchors_to_repeat(PLANS[0]), *prefixes_to_repeat(PLANS, 1)]
    assert {len(request.coalition) for request in requests} == {0, 1, 3, 5, 7, 9}
    prefixes = {frozenset(chain.order[:length]) for chain in PLANS[:4] for length in range(10)}
    assert {request.coalition for request in requests} <= prefixes
    assert len({request.task for request in requests}) >= 5
    assert prefixes_to_repeat(PLANS, 1) == prefixes_to_repeat(PLANS[:5], 1), "more orders leave them as they are"
    assert prefixes_to_repeat(PLANS, 1) != prefixes_to_repeat(PLANS, 2)


def test_a_skill_with_only_the_trigger_has_no_prefixes_to_repeat():
    assert prefixes_to_repeat([plan(n=1)], 1) == []


@pytest.mark.parametrize("tolerance", [None, 0.6])
def test_repeats_after_a_wave_are_a_small_share_of_what_the_chain_scored(tolerance, tmp_path):
    chains = [plan(n=9, b=6, index=index, rotate=index, tolerance=tolerance) for index in range(6)]
    records = World(tmp_path, n=9, b=6).run([chain_policy(chain, TRIGGER) for chain in chains])
    sizes = set()
    for record in records:
        requests = rollouts_to_repeat(record, 1)
        assert 1 <= len(requests) <= 1 + 0.04 * 2 * len(scored(record))
        assert {(request.coalition, request.task) for request in requests} <= scored(record)
        assert rollouts_to_repeat(record, 1) == requests
        sizes |= {len(request.coalition) for request in requests}
    assert len(sizes) >= 4


def test_repeats_find_the_first_rollouts_in_the_ledger(tmp_path):
    world = World(tmp_path, n=9, b=6)
    (record,) = world.run([chain_policy(plan(n=9, b=6), TRIGGER)])
    before = sum(world.agent.calls.values())
    requests = rollouts_to_repeat(record, 1)
    (noise,) = world.run([check_noise(requests)])
    assert noise.compared == sum(world.agent.calls.values()) - before == len(requests)


@pytest.mark.parametrize("orders", [1, 4, 5, 12, 40])
def test_waves_hold_every_chain_once_and_do_not_depend_on_later_chains(orders):
    plans = [plan(index=index) for index in range(orders)]
    found = list(waves(plans))
    assert [chain.index for wave in found for chain in wave] == list(range(orders))
    assert [len(wave) for wave in found][:-1] == [4, 8, 16, 32][: len(found) - 1]


def test_a_noisy_agent_has_a_replicate_for_each_chain_that_is_not_finished():
    assert [chain.replicate for chain in with_replicates(PLANS[:3], Noise(), {})] == [0, 0, 0]
    assert [chain.replicate for chain in with_replicates(PLANS[:3], NOISY, {})] == [0, 1, 2]
    assert [chain.replicate for chain in with_replicates(PLANS[:3], NOISY, {1: 0})] == [0, 0, 2]


@pytest.mark.parametrize(("orders", "tolerance"), [(3, None), (12, None), (12, 0.6)])
def test_the_forecast_is_an_upper_bound_of_the_repeats(orders, tolerance, tmp_path):
    chains = [plan(n=9, b=6, index=index, rotate=index, tolerance=tolerance) for index in range(orders)]
    world = World(tmp_path, n=9, b=6)
    records = world.run([chain_policy(chain, TRIGGER) for chain in chains])
    requested = sum(len(scored(record)) * 2 for record in records)
    without = sum(world.agent.calls.values())
    world.run([check_noise(anchors_to_repeat(chains[0]), rollouts=3), check_noise(prefixes_to_repeat(chains, 1))])
    world.run([check_noise([request for record in records for request in rollouts_to_repeat(record, 1)])])
    assert sum(world.agent.calls.values()) - without <= most_repeats(requested, 6, orders)


def test_a_forecast_with_the_noise_check_adds_its_repeats():
    chains, checked = (forecast(20, 8, 12, BOTH, noise_check=check) for check in (False, True))
    for name in ("low", "expected", "high"):
        rollouts = getattr(chains, name).rollouts
        assert getattr(checked, name).rollouts == rollouts + most_repeats(rollouts, 8, 12)
