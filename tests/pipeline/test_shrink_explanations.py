"""Why nothing was proposed, and what a failed proof would take."""

import numpy as np

import skillsv as sv
from skillsv.confirmation import Gate
from skillsv.confirmation.paired_proof import Claim, PairScores, ProofResult
from skillsv.confirmation.power import ProofSize, power
from skillsv.pipeline.shrink_choice import Evidence, start_trials
from skillsv.pipeline.shrink_explanations import explain_trials, explain_values, would_take
from skillsv.pipeline.shrink_plan import FirstBatch, ShrinkGoal, plan_shrink

SKILL = sv.compile("# Facts\n\n- one\n- two\n")
GATE = Gate(max_drop=0.05)
STEADY = FirstBatch(trigger=(0.0,) * 20, full=(1.0,) * 20, changed=(1.0,) * 20, noisy=False)
PLAN = plan_shrink(ShrinkGoal(rollouts=400, gate=GATE), 20, 100, STEADY)


def evidence(kept=frozenset()):
    return Evidence(
        compiled=SKILL.compiled, observations=(), tokens=dict.fromkeys(SKILL.compiled.execution, 3), kept=kept
    )


def result_of(changes):
    new = 0.5 + np.array(changes) / 2
    pairs = tuple((f"t{number}", 0) for number in range(len(new)))
    scores = PairScores(pairs=pairs, old=new - np.array(changes), new=new)
    return ProofResult.of(scores, Claim(gate=GATE), np.random.default_rng(1))


def test_kept_units_are_named_as_the_cause():
    found = evidence(frozenset(SKILL.compiled.execution))
    assert "--keep" in explain_values(found, PLAN)["reason"]
    assert "--keep" in explain_trials(found, start_trials(found), PLAN)["reason"]


def test_trials_without_rollouts_are_named_as_the_cause():
    trials = start_trials(evidence())
    assert list(trials.run(["t"], 0, np.random.default_rng(1))) == []
    stopped = explain_trials(evidence(), trials, PLAN)
    assert "too few" in stopped["reason"]
    assert any("--max-rollouts" in option for option in stopped["would_help"])


def test_units_that_all_matter_are_named_as_the_cause():
    trials = start_trials(evidence())
    trials.done, trials.kept = True, set(SKILL.compiled.execution)
    assert "loses score" in explain_trials(evidence(), trials, PLAN)["reason"]


def test_a_failed_proof_names_the_rollouts_that_would_show_it():
    result = result_of([-1, 1] * 10 + [0] * 80)
    text = would_take(result)
    pairs = int(text.split("it would take ")[1].split()[0].replace(",", "")) // 2
    assert power(GATE, ProofSize(pairs=pairs, tasks=pairs), result.variance) >= 0.8


def test_a_set_that_really_loses_more_is_not_shown_by_more_rollouts():
    assert "more rollouts would hardly show it" in would_take(result_of([-1] * 10 + [0] * 90))
