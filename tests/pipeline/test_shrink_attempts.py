"""The sets of a steady agent in turn: trials, a proof, and a mended set on tasks that were not asked."""

from dataclasses import replace
from types import SimpleNamespace

import anyio
import numpy as np

import skillsv as sv
from skillsv.confirmation import Gate
from skillsv.model.coalition import AdaptiveReason, Observation, Operator
from skillsv.pipeline.shrink_attempts import attempt_by_trials
from skillsv.pipeline.shrink_choice import Evidence, predict_drop
from skillsv.pipeline.shrink_plan import FirstBatch, ShrinkGoal, plan_shrink
from skillsv.pipeline.shrink_proof import NewVersion, ProofOutcomes

BULLETS = "".join(f"- Fact {number} of many.\n" for number in range(8))
SKILL = sv.compile(f"# Facts\n\n{BULLETS}")
UNITS = SKILL.compiled.execution
STEADY = FirstBatch(trigger=(0.0,) * 20, full=(1.0,) * 20, changed=(1.0,) * 20, noisy=False)


class MemorySession:
    """Plays trials and proofs with `needed`: the unit that each task needs."""

    def __init__(self, needed, panel_a, held_out):
        self.needed, self.asked, self.mended = needed, [], frozenset()
        panel = SimpleNamespace(tasks=[SimpleNamespace(id=task) for task in panel_a])
        self.prepared = SimpleNamespace(panel_a=panel, job=SimpleNamespace(settings=SimpleNamespace(seed=1)))
        self.held_out = [SimpleNamespace(id=task) for task in held_out]

    def play(self, policy):
        try:
            requests = next(policy)
            while True:
                self.asked += requests
                requests = policy.send({one: float(self.needed[one.task] in one.coalition) for one in requests})
        except StopIteration as end:
            return end.value

    def keep_mended(self, tasks=()):
        self.mended |= frozenset(tasks)

    async def run_trials(self, trials, tasks, rollouts, rng):
        self.play(trials.run(tasks, rollouts, rng))

    async def prove(self, proof, versions, claims, *, rollouts, rng, look):
        result = self.play(proof.run(versions[0].coalition, rollouts, claims[0], rng, look))
        return ProofOutcomes(results=(result,), rollouts=proof.used())


def attempt(session, *, rollouts=800, same_tasks=False, asked=None, trials=None):
    everything = SKILL.compiled.everything
    observations = [
        Observation(
            coalition=coalition,
            operator=Operator.DELETE,
            task=task.id,
            replicate=0,
            score=float(coalition == everything),
            why=AdaptiveReason.ANCHOR_FULL,
        )
        for task in session.prepared.panel_a.tasks[:asked]
        for coalition in ((everything, frozenset({SKILL.compiled.trigger})) if asked else (everything,))
    ]
    evidence = Evidence(compiled=SKILL.compiled, observations=observations, tokens=dict.fromkeys(UNITS, 6))
    goal = ShrinkGoal(rollouts=rollouts, gate=Gate(max_drop=0.05), same_tasks=same_tasks)
    tasks = len(session.prepared.panel_a.tasks)
    plan = plan_shrink(goal, tasks, tasks if same_tasks else len(session.held_out), STEADY)

    if trials is not None:
        plan = replace(plan, trials=trials)

    async def make_version(chosen):
        return NewVersion(coalition=everything - chosen.removed, after=None, tokens=0, removed=tuple(chosen.removed))

    return anyio.run(attempt_by_trials, session, evidence, plan, make_version)


def panels(held_out, rare=()):
    a, b = [f"a{number}" for number in range(20)], [f"b{number}" for number in range(held_out)]
    return {task: UNITS[2] if task in rare else UNITS[1] for task in (*a, *b)}, a, b


def test_a_set_that_loses_tasks_is_mended_and_proved_on_tasks_that_were_not_asked():
    session = MemorySession(*panels(150, rare=("b2", "b3", "b9")))
    attempts = attempt(session)
    first, second = attempts.chosen
    assert UNITS[2] in first.removed
    assert second.removed == set(UNITS) - {UNITS[1], UNITS[2]}
    assert [result.confirmation.tasks for result in attempts.outcomes.results] == [45, 105]
    assert attempts.outcomes.results[0].lost == ("b2", "b3", "b9")
    assert attempts.proved.coalition == SKILL.compiled.everything - second.removed
    assert session.mended == {f"b{number}" for number in range(45)}
    assert attempts.trials + attempts.outcomes.rollouts == len(set(session.asked)) <= 800


def test_a_set_that_loses_nothing_is_proved_on_all_tasks_at_once():
    attempts = attempt(MemorySession(*panels(150)))
    assert [result.confirmation.tasks for result in attempts.outcomes.results] == [150]
    assert len(attempts.proved.removed) == 7


def test_a_set_that_loses_most_tasks_is_mended_down_to_what_no_task_needs():
    needed, a, b = panels(150)
    needed |= {task: UNITS[3 + number % 5] for number, task in enumerate(b)}
    attempts = attempt(MemorySession(needed, a, b))
    assert set(attempts.proved.removed) == {UNITS[0], UNITS[2]}


def test_without_enough_tasks_for_a_second_set_nothing_is_deleted():
    attempts = attempt(MemorySession(*panels(70, rare=("b2", "b3", "b9"))))
    assert len(attempts.chosen) == 1
    assert attempts.proved is None


def test_the_prediction_for_a_set_that_lost_nothing_is_no_loss_and_can_hold_a_gain():
    (chosen,) = attempt(MemorySession(*panels(150))).chosen
    assert chosen.drop.value == 0
    assert chosen.drop.low < 0 < chosen.drop.high
    assert chosen.basis == "seen on 20 tasks of the trials"


def test_the_prediction_for_a_mended_set_counts_what_it_mends_as_no_loss():
    _, second = attempt(MemorySession(*panels(150, rare=("b2", "b3", "b9")))).chosen
    assert second.drop.value == 0
    assert second.basis == "seen on 65 tasks of the trials"


def test_gains_that_trials_saw_are_predicted_and_tasks_without_a_trial_may_gain():
    changes = dict.fromkeys(map(str, range(30)), 0.0) | dict.fromkeys(map(str, range(30, 40)), 1.0)
    seen = predict_drop(changes, np.random.default_rng(1))
    assert seen.value == -0.25
    assert -0.5 < seen.low < -0.25 < seen.high < 0
    unknown = predict_drop({**changes, **dict.fromkeys(map(str, range(30, 40)))}, np.random.default_rng(1))
    assert unknown.value == 0
    assert abs(unknown.low - seen.low) < 0.01
    assert unknown.high > 0


def test_trials_on_a_hundred_same_tasks_end_within_their_share():
    tasks = [f"a{number}" for number in range(100)]
    needed = {task: UNITS[number % 3] for number, task in enumerate(tasks)}
    session = MemorySession(needed, tasks, ())
    attempts = attempt(session, same_tasks=True, asked=80)
    assert attempts.proved is not None
    assert set(attempts.proved.removed) == set(UNITS[3:])


def test_without_any_trial_nothing_is_proposed_and_no_proof_is_paid():
    session = MemorySession(*panels(150))
    attempts = attempt(session, trials=0)
    assert (attempts.chosen, attempts.outcomes.results) == ((), ())
    assert "too few" in attempts.stopped["reason"]
    assert session.asked == []
