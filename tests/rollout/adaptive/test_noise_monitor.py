import pytest

from skillsv.rollout.adaptive.noise_monitor import WINDOW, NoiseMonitor


@pytest.mark.parametrize(
    ("repeats", "neighbours", "noisy"),
    [
        ([], [], False),
        ([True], [], False),
        ([True, True], [], True),
        ([True, True] + [False] * (WINDOW - 2), [], True),
        ([True, True] + [False] * WINDOW, [], False),
        ([], [True, True], True),
        ([], [True, True] + [False] * 18, True),
        ([], [True, True] + [False] * 19, False),
        ([True], [True], False),
    ],
)
def test_two_recent_failures_of_one_kind_mean_noise(repeats, neighbours, noisy):
    monitor = NoiseMonitor(repeats=repeats, neighbours=neighbours)
    assert monitor.noisy is noisy
    assert monitor.checks == len(repeats) + len(neighbours)
    assert monitor.reverts == sum(repeats) + sum(neighbours)
