"""The order in which tasks join a run, and how many of them a noisy agent is asked on."""

from collections import Counter

import pytest

from skillsv.rollout.adaptive import AdaptiveOptions, MaxRollouts
from skillsv.rollout.adaptive.task_panel import FEW_TASKS, FIRST_TASKS, noisy_panel_size, order_tasks
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill

TASKS = [f"t{number}" for number in range(100)]
STRATA = {task: "rare" if number < 20 else "usual" for number, task in enumerate(TASKS)}


def test_every_beginning_of_the_order_holds_the_strata_in_proportion():
    order = order_tasks(TASKS, STRATA, 5)
    assert sorted(order) == list(range(100))
    for size in (10, 30, 40, 70):
        rare = Counter(STRATA[TASKS[number]] for number in order[:size])["rare"]
        assert abs(rare - 0.2 * size) <= 1


def test_the_order_depends_on_the_seed_alone():
    assert order_tasks(TASKS, STRATA, 5) == order_tasks(TASKS, STRATA, 5) != order_tasks(TASKS, STRATA, 6)


@pytest.mark.parametrize(
    ("rollouts", "tasks", "size"),
    [
        (0, 120, FIRST_TASKS),
        (400, 120, FEW_TASKS),
        (1199, 120, FEW_TASKS),
        (2400, 120, 80),
        (9000, 120, 120),
        (0, 9, 9),
    ],
)
def test_a_noisy_agent_is_asked_on_few_tasks_while_rollouts_are_few(rollouts, tasks, size):
    assert noisy_panel_size(rollouts, tasks) == size


def test_a_steady_agent_is_asked_on_all_tasks_and_a_noisy_one_on_some():
    game = planted_skill("spreadsheet", 1)
    asked = {}
    for noise in (Noise(), Noise(temperature=0.5)):
        options = AdaptiveOptions(stop=MaxRollouts(600))
        record = play_adaptive(make_adaptive_problem(game), Player(game, noise, 1), options, 1)
        assert record.noisy is bool(noise.temperature)
        asked[record.noisy] = len({observation.task for observation in record.observations})
    assert asked == {False: len(game.tasks), True: FEW_TASKS}
