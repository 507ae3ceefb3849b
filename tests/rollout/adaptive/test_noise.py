import pytest

from skillsv.rollout.adaptive.allocation import WINDOW, Monitor


@pytest.mark.parametrize(
    ("repeats", "further", "noisy"),
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
def test_two_failures_among_the_last_checks_of_a_kind_mean_noise(repeats, further, noisy):
    monitor = Monitor(repeats=repeats, further=further)
    assert monitor.noisy is noisy
    assert monitor.checks == len(repeats) + len(further)
    assert monitor.reverts == sum(repeats) + sum(further)
