"""Checks before a run: does the skill change any score, and is the agent deterministic?"""

from worlds import TRIGGER, ToyAgent, World, plan, tasks, units

from skillsv.errors import AgentFailure
from skillsv.model.rollout import Outcome
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.checks import Activation, Noise, check_activation, check_noise, with_replicates
from skillsv.rollout.run_control import RunnerOptions

EVERYTHING = frozenset(units(6))
WINDOW = tuple(tasks(4))


class RuleAgent(ToyAgent):
    """Scores by a rule: (has skill, task, replicate) to score."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    async def run(self, skill, task, replicate, workspace):
        await super().run(skill, task, replicate, workspace)
        return Outcome(answer=str(self.rule(skill is not None, task.id, replicate)))


def test_a_skill_that_changes_no_score_is_reported(tmp_path):
    world = World(tmp_path, agent=RuleAgent(lambda has, task, replicate: 1.0))
    (activation,) = world.run([check_activation(WINDOW, EVERYTHING)])
    assert activation.silent
    assert "changed no score on 4 tasks (all score 1 " in activation.sentence()
    assert sum(world.agent.calls.values()) == 8


def test_one_score_that_differs_shows_that_the_skill_has_an_effect(tmp_path):
    world = World(tmp_path, agent=RuleAgent(lambda has, task, replicate: float(has and task == "t2")))
    (activation,) = world.run([check_activation(WINDOW, EVERYTHING)])
    assert not activation.silent
    assert activation.sentence() is None


def test_further_tasks_are_scored_while_no_score_differs(tmp_path):
    world = World(tmp_path, agent=RuleAgent(lambda has, task, replicate: float(has and task == "t2")))
    (activation,) = world.run([check_activation(WINDOW[:2], EVERYTHING, further=WINDOW[2:])])
    assert not activation.silent
    assert activation.full == (0.0, 0.0, 1.0, 0.0)
    assert activation.empty == (0.0,) * 4


def test_further_tasks_are_not_scored_once_a_score_differs(tmp_path):
    world = World(tmp_path, agent=RuleAgent(lambda has, task, replicate: float(has)))
    (activation,) = world.run([check_activation(WINDOW[:2], EVERYTHING, further=WINDOW[2:])])
    assert activation.full == (1.0, 1.0)
    assert sum(world.agent.calls.values()) == 4


def test_equal_trees_and_missing_scores_do_not_count_as_silent():
    assert not Activation(empty=(1.0,), full=(1.0,), same_tree=True).silent
    assert "nothing to value" in Activation(empty=(1.0,), full=(1.0,), same_tree=True).sentence()
    assert not Activation(empty=(None, 0.0), full=(1.0, None)).silent
    assert "each scores the same" in Activation(empty=(1.0, 0.0), full=(1.0, 0.0)).sentence()


def test_repeats_that_agree_are_reused_by_the_chains(tmp_path):
    world = World(tmp_path)
    (noise,) = world.run([check_noise(WINDOW[:2], EVERYTHING)])
    assert (noise.compared, noise.differing, noise.deterministic) == (4, 0, True)
    assert "reused" in noise.sentence()
    paid = set(world.agent.calls)
    world.run([chain_policy(plan(), TRIGGER)])
    assert set(world.agent.calls.values()) == {1}
    assert len({key for key in paid if key[2] == 0}) == 4, "the chain found both anchors of two tasks in the ledger"


def test_repeats_that_disagree_give_every_chain_its_own_replicate(tmp_path):
    world = World(tmp_path, agent=RuleAgent(lambda has, task, replicate: float(task == "t1" and replicate == 2)))
    (noise,) = world.run([check_noise(WINDOW[:2], EVERYTHING)])
    assert (noise.compared, noise.differing) == (4, 2)
    assert "2 of 4" in noise.sentence()
    plans = [plan(index=index) for index in range(3)]
    assert [chain.replicate for chain in with_replicates(plans, noise)] == [0, 1, 2]
    assert [chain.replicate for chain in with_replicates(plans, noise, offset=10)] == [10, 11, 12]
    assert [chain.replicate for chain in with_replicates(plans, Noise(compared=4, differing=0))] == [0, 0, 0]


def test_missing_repeats_are_not_compared(tmp_path):
    def fault(task, call):
        if task == "t0":
            raise AgentFailure("down", kind="bad-request")

    world = World(
        tmp_path, agent=ToyAgent(fault=fault), options=RunnerOptions(max_missing=1.0, max_failures_at_start=99)
    )
    (noise,) = world.run([check_noise(WINDOW[:2], EVERYTHING)])
    assert noise.compared == 2
    assert "No repeats" in Noise(compared=0, differing=0).sentence()
