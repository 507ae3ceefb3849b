"""The check before a run: does the skill change any score?"""

from worlds import RuleAgent, World, tasks, units

from skillsv.rollout.checks import Activation, check_activation

EVERYTHING = frozenset(units(6))
WINDOW = tuple(tasks(4))


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
