"""The arithmetic of a proof's power, against proofs of simulated scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.confirmation import Gate, lower_bound
from skillsv.confirmation.power import (
    ProofSize,
    pair_variance,
    pairs_needed,
    power,
    proof_size,
)

GATE = Gate(max_drop=0.05, level=0.95)


def simulated_power(tasks: int, disagreement: float, drop: float, *, proofs: int = 100) -> float:
    """The share of simulated proofs that pass: on each task old and new differ with a chance, and the new one loses."""
    rng = np.random.default_rng(11)
    chances = [(disagreement + drop) / 2, (disagreement - drop) / 2]
    chances = [chances[0], 1 - sum(chances), chances[1]]
    passed = 0
    for _ in range(proofs):
        differences = rng.choice([-1.0, 0.0, 1.0], size=tasks, p=chances)
        passed += lower_bound(differences, GATE.level, rng) >= -GATE.max_drop
    return passed / proofs


@pytest.mark.parametrize(
    ("tasks", "disagreement", "drop"), [(100, 0.1, 0.0), (200, 0.1, 0.0), (200, 0.1, 0.03), (400, 0.12, 0.0)]
)
def test_power_is_that_of_simulated_proofs(tasks, disagreement, drop):
    forecast = float(power(GATE, ProofSize(pairs=tasks, tasks=tasks), disagreement - drop**2, drop))
    assert forecast == pytest.approx(simulated_power(tasks, disagreement, drop), abs=0.12)


def test_a_proof_without_noise_needs_the_exact_number_of_tasks():
    assert power(GATE, ProofSize(pairs=58, tasks=58), 0.0) == 0.0
    assert power(GATE, ProofSize(pairs=59, tasks=59), 0.0) == 1.0


def test_pairs_needed_have_the_wanted_power_and_no_fewer_do():
    needed = pairs_needed(GATE, 0.1)
    assert needed is not None
    assert 200 < needed < 400
    assert power(GATE, ProofSize(pairs=needed, tasks=needed), 0.1) >= 0.8
    assert power(GATE, ProofSize(pairs=needed - 1, tasks=needed - 1), 0.1) < 0.8


@settings(deadline=None, max_examples=60)
@given(
    pairs=st.integers(60, 2000),
    more=st.integers(0, 500),
    variance=st.floats(0.0, 0.5),
    drop=st.floats(-0.2, 0.2),
    further=st.floats(0.0, 0.2),
)
def test_power_grows_with_pairs_and_shrinks_with_the_drop(pairs, more, variance, drop, further):
    size, larger = ProofSize(pairs=pairs, tasks=60), ProofSize(pairs=pairs + more, tasks=60)
    assert power(GATE, size, variance, drop + further) <= power(GATE, size, variance, drop) + 1e-12
    if drop <= 0:
        assert power(GATE, larger, variance, drop) >= power(GATE, size, variance, drop) - 1e-9


def test_a_proof_has_no_more_tasks_than_are_held_out():
    assert proof_size(401, 150) == ProofSize(pairs=200, tasks=150)
    assert proof_size(100, 150) == ProofSize(pairs=50, tasks=50)


def test_the_variance_of_a_pair_ignores_missing_scores():
    first, second = np.array([1.0, 0.0, 1.0, np.nan]), np.array([0.0, 0.0, 1.0, 1.0])
    assert pair_variance(first, second) == pytest.approx((1 + 0.4) / 7)
