"""Repeats of rollouts: what they compare, and what the sentence about them says."""

import pytest
from worlds import RuleAgent, ToyAgent, World, tasks, units

from skillsv.errors import AgentFailure
from skillsv.model.coalition import Observation, Operator
from skillsv.model.rollout import Request
from skillsv.rollout.noise_check import Noise, check_noise, noise_among
from skillsv.rollout.run_control import RunnerOptions

EVERYTHING = frozenset(units(6))
SAME_SIZE = "with partial skills of 1 size"
MISSED = "Noise that changes fewer than 1 in 10 scores may be missed (95% confidence)."
TOO_FEW = "That is too few to rule out noise."


def request(task, coalition=EVERYTHING):
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=0, why="test")


def noise(equal, differing=0):
    places = [(frozenset({"m", f"u{n % 3}"}), Operator.DELETE, f"t{n}") for n in range(equal + differing)]
    return Noise(repeated={place: number >= equal for number, place in enumerate(places)})


def test_each_request_is_run_so_many_times_and_compared(tmp_path):
    world = World(tmp_path, agent=RuleAgent(lambda has, task, replicate: float(task == "t1" and replicate == 2)))
    requests = [request(task, coalition) for task in tasks(3) for coalition in (frozenset(), EVERYTHING)]
    (two,) = world.run([check_noise(requests)])
    assert (two.compared, two.differing, two.deterministic) == (6, 0, True)
    (three,) = world.run([check_noise(requests, rollouts=3)])
    assert (three.compared, three.differing, three.deterministic) == (6, 2, False)
    assert set(world.agent.calls.values()) == {1}, "the ledger answered the first two rollouts"


def test_missing_repeats_are_not_compared(tmp_path):
    def fault(task, call):
        if task == "t0":
            raise AgentFailure("down", kind="bad-request")

    options = RunnerOptions(max_missing=1.0, max_failures_at_start=99)
    world = World(tmp_path, agent=ToyAgent(fault=fault), options=options)
    (found,) = world.run([check_noise([request("t0"), request("t1")])])
    assert found.compared == 1


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (noise(0), "No rollout was repeated, so it is not known whether the agent is deterministic."),
        (noise(30), f"30 rollouts on 30 tasks {SAME_SIZE} were repeated, and no score changed. {MISSED}"),
        (noise(1), f"1 rollout on 1 task {SAME_SIZE} was repeated, and no score changed. {TOO_FEW}"),
        (noise(3, 2), f"5 rollouts on 5 tasks {SAME_SIZE} were repeated, and 2 scores changed."),
    ],
)
def test_the_finding_says_what_was_repeated_and_what_may_be_missed(found, sentence):
    assert found.finding() == sentence


@pytest.mark.parametrize("repeats", [5, 10, 59, 300])
def test_the_noise_that_may_be_missed_follows_the_rule_of_three(repeats):
    odds = int(noise(repeats).finding().split("1 in ")[1].split()[0])
    assert (1 - 1 / odds) ** repeats <= 0.05 < (1 - 1 / (odds + 1)) ** repeats


def test_joined_repeats_count_a_rollout_once_and_keep_a_difference():
    assert noise(3).join(noise(3, 1)).compared == 4
    place = next(iter(noise(1).repeated))
    differs, equal = Noise(repeated={place: True}), Noise(repeated={place: False})
    assert not differs.join(equal).deterministic
    assert not equal.join(differs).deterministic


def test_repeats_of_an_adaptive_run_end_where_the_agent_was_called_noisy():
    def observed(replicate, score, why="repeat"):
        return Observation(
            coalition=EVERYTHING, operator=Operator.DELETE, task="t", replicate=replicate, score=score, why=why
        )

    agreed = [observed(0, 1.0, "anchor:full"), observed(1, 1.0), observed(2, None)]
    assert noise_among(agreed).deterministic
    assert noise_among([*agreed, observed(3, 0.0, "closed-set")]).deterministic
    assert noise_among([*agreed, observed(3, 0.0)]).differing == 1
