import pytest

from skillsv.rollout.adaptive.noise_monitor import WINDOW, PanelMonitor


@pytest.mark.parametrize(
    ("differing", "agreeing", "noisy"),
    [
        ([], 5, False),
        ([3], 5, False),
        ([3, 3, 3], 5, False),
        ([3, 4], 5, True),
        ([3, 4], WINDOW - 2, True),
        ([3, 4], WINDOW, False),
    ],
)
def test_two_noisy_tasks_among_recent_checks_mean_a_noisy_agent(differing, agreeing, noisy):
    monitor = PanelMonitor(tasks=20)
    for task in differing:
        monitor.add(task, differs=True)
    for task in range(agreeing):
        monitor.add(task % 20, differs=False)
    assert monitor.noisy is noisy
    assert monitor.differing == len(differing)
    assert monitor.noisy_tasks == set(differing), "a task stays noisy"


def test_a_panel_of_one_task_is_noisy_with_it():
    monitor = PanelMonitor(tasks=1)
    monitor.add(0, differs=True)
    assert monitor.noisy


def test_scores_that_go_back_next_to_a_change_prove_nothing():
    monitor = PanelMonitor(tasks=20, neighbours=[True] * 10)
    assert not monitor.noisy


def test_a_search_reports_its_checks_with_its_task_and_ends_on_a_noisy_one():
    monitor = PanelMonitor(tasks=20)
    mine, other = monitor.of_task(7), monitor.of_task(8)
    mine.repeats.append(False)
    assert not mine.noisy
    mine.repeats.append(True)
    mine.neighbours.append(False)
    assert mine.repeats[-1]
    assert mine.noisy
    assert not other.noisy
    assert monitor.checks == [(7, False), (7, True)]
    assert monitor.neighbours == [False]
