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
    assert monitor.differing == sum(repeats)


@pytest.mark.parametrize(("samples", "noisy"), [([True], False), ([True, True], True), ([False] * 50, False)])
def test_repeats_drawn_at_random_count_as_repeats(samples, noisy):
    assert NoiseMonitor(samples=samples).noisy is noisy
    assert NoiseMonitor(repeats=[True], samples=samples).noisy is any(samples)
