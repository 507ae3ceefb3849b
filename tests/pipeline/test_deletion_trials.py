"""Trials of a steady agent: what they keep, what they cost, and the set that is chosen from them."""

import numpy as np
import pytest

from skillsv.confirmation.paired_proof import PairedProof
from skillsv.pipeline.deletion_trials import NOTHING, DeletionTrials

UNITS = tuple(f"u{number:02d}" for number in range(32))
EVERYTHING = frozenset({"m", *UNITS})
ALONE = {unit: frozenset({unit}) for unit in UNITS}
TASKS = tuple(f"t{number}" for number in range(24))


def run(trials, score, *, tasks=TASKS, rollouts=1000):
    """Run trials with `score(coalition, task)`, and return the number of requests."""
    asked = []
    policy = trials.run(tasks, rollouts, np.random.default_rng(3))
    try:
        requests = next(policy)
        while True:
            asked += requests
            requests = policy.send({request: score(request.coalition, request.task) for request in requests})
    except StopIteration:
        assert len(asked) == len(set(asked)) == trials.used
        return len(asked)


def needs(mapping):
    """Tasks that are solved where all units that they need are present."""
    return lambda coalition, task: float(mapping[task] <= coalition)


def new_trials(groups=ALONE, order=UNITS):
    return DeletionTrials(everything=EVERYTHING, groups=groups, order=order)


def test_trials_keep_exactly_the_units_that_tasks_need():
    wanted = {task: {UNITS[number % 5], UNITS[20 + number % 2]} for number, task in enumerate(TASKS)}
    trials = new_trials()
    asked = run(trials, needs(wanted))
    assert trials.kept == {*UNITS[:5], UNITS[20], UNITS[21]}
    assert trials.removed == set(UNITS) - trials.kept
    assert trials.broken == ()
    assert asked < len(TASKS) * 8  # a search for each unit on each task would take 24 * 2 * 5 besides


def test_of_units_that_replace_each_other_the_last_of_the_order_stays():
    trials = new_trials(order=UNITS[::-1])
    run(trials, lambda coalition, task: float(bool({"u03", "u30"} & coalition)))
    assert trials.kept == {"u03"}


def test_what_a_kept_unit_needs_stays_and_what_needs_a_deleted_one_goes():
    groups = {**ALONE, "u00": frozenset({"u00", "u07"})}  # u07 needs u00
    trials = new_trials(groups)
    run(trials, needs({task: {"u07"} for task in TASKS}))
    assert not trials.removed & {"u00", "u07"}
    assert len(trials.removed) == 30


def test_a_task_that_only_a_kept_unit_breaks_is_found_in_the_end():
    """With u00 alone t1 is solved no more: what is kept for t0 breaks it, and u01 mends it."""

    def score(coalition, task):
        return float("u00" in coalition if task == "t0" else "u00" not in coalition or "u01" in coalition)

    trials = new_trials()
    run(trials, score, tasks=("t0", "t1"))
    assert trials.kept == {"u00", "u01"}


def test_trials_end_with_their_rollouts_and_tell_what_is_broken():
    trials = new_trials()
    assert run(trials, needs({task: {UNITS[number]} for number, task in enumerate(TASKS)}), rollouts=90) <= 90
    assert trials.kept
    assert trials.broken
    assert trials.count_changes() == (len(trials.broken), 0, 24)


def test_tasks_that_the_full_skill_does_not_solve_and_missing_scores_cost_nothing_more():
    trials = new_trials()
    asked = run(trials, lambda coalition, task: None if task == "t1" else 0.0)
    assert asked == len(TASKS)
    assert trials.removed == set(UNITS)


def test_scores_of_a_proof_are_not_paid_again():
    trials, score = new_trials(), needs({task: {"u05"} for task in TASKS})
    run(trials, score, tasks=TASKS[:3])
    proof = PairedProof(old=EVERYTHING, pairs=[("t9", 0), ("t9", 1)])
    proof.scores[EVERYTHING, ("t9", 1)] = 0.75
    proof.scores[EVERYTHING, ("t9", 0)] = 0.25
    trials.read_proof(proof)
    assert trials.scores[NOTHING, "t9"] == 0.25


@pytest.mark.parametrize("graded", [0.2, 1.0])
def test_any_loss_of_score_counts(graded):
    trials = new_trials()
    run(trials, lambda coalition, task: 1.0 if "u09" in coalition else 1.0 - graded)
    assert trials.kept == {"u09"}
