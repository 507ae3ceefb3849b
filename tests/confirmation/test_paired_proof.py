"""Proofs in pairs: what is asked, when it ends, and how often it is wrong."""

import numpy as np
import pytest

from skillsv.confirmation import Gate
from skillsv.confirmation.paired_proof import (
    FRESH,
    HALFWAY,
    Claim,
    Look,
    PairedProof,
    pairs_by_noise,
    pairs_in_turn,
    same_tasks_bound,
)
from skillsv.model.edit import ProofOutcome

OLD, NEW, SMALL = frozenset({"m", "a", "b"}), frozenset({"m"}), frozenset({"m", "a"})
CLAIM = Claim(gate=Gate(max_drop=0.05))


def play(proof, new, rollouts, score, claim=CLAIM, seed=0, look=HALFWAY):
    """Run one proof with `score(request)`, and return its result and what it asked."""
    asked = []
    policy = proof.run(new, rollouts, claim, np.random.default_rng(seed), look)
    try:
        requests = next(policy)
        while True:
            asked += requests
            requests = policy.send({request: score(request) for request in requests})
    except StopIteration as end:
        return end.value, asked


def tasks(count):
    return [f"t{number}" for number in range(count)]


def test_a_version_without_a_loss_is_shown_to_be_no_worse():
    proof = PairedProof(old=OLD, pairs=pairs_in_turn(tasks(80), 80))
    result, asked = play(proof, NEW, 160, lambda request: 1.0)
    assert result.confirmation.outcome is ProofOutcome.NO_WORSE
    assert len(asked) == len(set(asked)) == 160


def test_a_hopeless_proof_ends_at_half_and_the_next_one_reuses_the_old_scores():
    proof = PairedProof(old=OLD, pairs=pairs_in_turn(tasks(100), 100))
    result, asked = play(proof, NEW, 200, lambda request: float(request.coalition != NEW))
    assert result.confirmation.outcome is ProofOutcome.WORSE
    assert len(asked) == 100
    assert len(result.lost) == 50
    result, asked = play(proof, SMALL, 200 - proof.used(), lambda request: 1.0)
    assert result.confirmation.outcome is ProofOutcome.NO_WORSE
    assert result.pairs == 75
    assert len(asked) == 100


def test_a_strict_look_ends_a_proof_with_a_loss_and_leaves_tasks_that_were_not_asked():
    look = Look(share=0.3, least_chance=0.5)
    proof = PairedProof(old=OLD, pairs=pairs_in_turn(tasks(100), 100))
    result, asked = play(
        proof, NEW, 200, lambda request: float(request.task != "t3" or request.coalition == OLD), look=look
    )
    assert (result.confirmation.tasks, result.lost, len(asked)) == (30, ("t3",), 60)
    rest = proof.untouched()
    assert [task for task, _ in rest.pairs] == tasks(100)[30:]
    clean = PairedProof(old=OLD, pairs=pairs_in_turn(tasks(60), 60))
    result, _ = play(clean, NEW, 120, lambda request: 1.0, look=look)
    assert result.confirmation.tasks == 60


def test_missing_scores_are_left_out_on_both_sides():
    proof = PairedProof(old=OLD, pairs=pairs_in_turn(tasks(80), 80))
    result, _ = play(proof, NEW, 160, lambda request: None if request.task == "t3" else 1.0)
    assert result.confirmation.tasks == 79


def test_more_pairs_on_a_task_are_null_changes_of_both_versions():
    pairs = pairs_in_turn(["a", "b"], 5)
    assert pairs == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2)]


def test_the_same_tasks_get_pairs_by_their_noise_and_fresh_null_changes():
    pairs = pairs_by_noise({"steady": 0.0, "coin": 0.5}, 40)
    counts = {task: sum(name == task for name, _ in pairs) for task in ("steady", "coin")}
    assert counts["steady"] >= 2
    assert counts["coin"] > 5 * counts["steady"]
    assert len(set(pairs)) == 40
    assert min(change for _, change in pairs) == FRESH


@pytest.mark.heavy
@pytest.mark.parametrize("same_tasks", [False, True])
def test_a_version_that_loses_more_than_the_gate_rarely_passes(same_tasks):
    """Of 200 proofs of a version that loses 5 points, at most 7 % pass (nominally 5 %)."""
    rng, passed = np.random.default_rng(5), 0
    names = tasks(60)
    chance = dict(zip(names, rng.uniform(0.05, 0.95, size=60).tolist(), strict=True))
    claim = Claim(gate=Gate(max_drop=0.05), same_tasks=same_tasks)

    def score(request):
        drop = 0.05 if request.coalition == NEW else 0.0
        return float(rng.random() < chance[request.task] - drop)

    for _ in range(200):
        pairs = pairs_by_noise(dict.fromkeys(names, 0.4), 240) if same_tasks else pairs_in_turn(names, 120)
        result, _ = play(PairedProof(old=OLD, pairs=pairs), NEW, 2 * len(pairs), score, claim)
        passed += result.confirmation.outcome is ProofOutcome.NO_WORSE
    assert passed <= 14


def test_the_bound_on_the_same_tasks_is_below_the_mean_change():
    by_task = {"a": (np.array([1.0, 0.0]), np.array([1.0, 1.0])), "b": (np.ones(2), np.ones(2))}
    assert -1 <= same_tasks_bound(by_task, 0.95) < 0.25
