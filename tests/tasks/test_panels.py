"""Panels are disjoint; windows are stratified and give every task the same chance."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skillsv.errors import TaskError
from skillsv.model.task import PanelA, Task
from skillsv.tasks import draw_window, split_panels


def tasks(*strata: int) -> tuple[Task, ...]:
    return tuple(
        Task(id=f"s{stratum}-{number}", input="x", stratum=f"s{stratum}")
        for stratum, size in enumerate(strata)
        for number in range(size)
    )


def ids(panel) -> list[str]:
    return [task.id for task in panel.tasks]


@settings(max_examples=100)
@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 2**32))
def test_panels_share_no_task_and_have_the_sizes_asked_for(count, a, b, seed):
    everything = tasks(count)
    if a + b > count or a < 1:
        with pytest.raises(TaskError):
            split_panels(everything, a=a, b=b, seed=seed)
        return
    panel_a, panel_b = split_panels(everything, a=a, b=b, seed=seed)
    assert (len(panel_a.tasks), len(panel_b.tasks)) == (a, b)
    assert len({*ids(panel_a), *ids(panel_b)}) == a + b


@pytest.mark.parametrize(
    ("a", "b", "sizes"),
    [
        (None, None, (6, 5)),
        (None, 0, (11, 0)),
        (None, 0.0, (11, 0)),
        (8, None, (8, 3)),
        (3, None, (3, 5)),
        (11, None, (11, 0)),
        (None, 4, (7, 4)),
        (0.5, 0.5, (5, 5)),
        (1.0, 0, (11, 0)),
        (0.3, 2, (3, 2)),
        (1, 1, (1, 1)),
    ],
)
def test_sizes_shares_and_defaults(a, b, sizes):
    panel_a, panel_b = split_panels(tasks(11), a=a, b=b, seed=1)
    assert (len(panel_a.tasks), len(panel_b.tasks)) == sizes


def test_a_share_that_is_a_whole_number_of_tasks_is_not_rounded_away():
    panel_a, _ = split_panels(tasks(100), a=0.29, b=0, seed=1)  # 0.29 * 100 is 28.999999999999996
    assert len(panel_a.tasks) == 29


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        (12, None, "Panels of 12 and 0 tasks do not fit: there are 11"),
        (6, 6, "Panels of 6 and 6 tasks do not fit: there are 11"),
        (0, None, "Panel A is empty"),
        (None, 11, "Panel A is empty"),
        (None, 1.0, "Panel A is empty"),
        (-1, None, "Panel A cannot have -1 tasks"),
        (None, 1.5, "Panel B cannot have 1.5 tasks"),
        (math.nan, None, "Panel A cannot have nan tasks"),
        (None, math.inf, "Panel B cannot have inf tasks"),
    ],
)
def test_panels_that_do_not_fit_are_refused(a, b, sentence):
    with pytest.raises(TaskError, match=sentence):
        split_panels(tasks(11), a=a, b=b, seed=1)


def test_no_tasks_make_no_panel():
    with pytest.raises(TaskError, match="There are no tasks"):
        split_panels((), a=None, b=None, seed=1)


def test_one_task_is_a_panel_a():
    panel_a, panel_b = split_panels(tasks(1), a=None, b=None, seed=1)
    assert (len(panel_a.tasks), len(panel_b.tasks)) == (1, 0)


def test_the_seed_decides_and_the_order_of_lines_does_not():
    everything = tasks(30)
    assert ids(split_panels(everything, a=10, b=10, seed=5)[0]) == ids(
        split_panels(everything[::-1], a=10, b=10, seed=5)[0]
    )
    assert ids(split_panels(everything, a=10, b=10, seed=5)[0]) != ids(split_panels(everything, a=10, b=10, seed=6)[0])


@pytest.mark.parametrize(
    ("strata", "size"), [((1, 2, 17, 5, 31), 8), ((1, 1, 1, 20), 3), ((1, 9), 9), ((7,), 3), ((3, 3, 3), 2)]
)
def test_every_task_is_drawn_equally_often_over_twenty_thousand_windows(strata, size):
    panel = PanelA(tasks=tasks(*strata))
    rng = np.random.default_rng(20260704)
    rounds, count = 20_000, sum(strata)
    drawn = Counter(task for _ in range(rounds) for task in draw_window(panel, size, rng).tasks)
    observed = np.array([drawn[task.id] for task in panel.tasks])
    expected = rounds * size / count
    # A task is in a window or not, with variance p(1-p); so under equal probability the statistic has mean `count`.
    chi_square = float(((observed - expected) ** 2).sum() / (expected * (1 - size / count)))
    assert stats.chi2.sf(chi_square, df=count) > 1e-4
    per_stratum = Counter(task.split("-")[0] for task in drawn.elements())
    for stratum, members in enumerate(strata):
        chance = size / count
        spread = math.sqrt(rounds * members * chance * (1 - chance) * members)
        assert abs(per_stratum[f"s{stratum}"] - rounds * members * chance) < 5 * spread


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.data())
def test_a_window_has_its_size_no_task_twice_and_its_share_of_each_stratum(strata, data):
    panel = PanelA(tasks=tasks(*strata))
    count = len(panel.tasks)
    size = data.draw(st.integers(1, count))
    window = draw_window(panel, size, np.random.default_rng(data.draw(st.integers(0, 10_000)))).tasks
    assert len(window) == len(set(window)) == size
    got = Counter(task.split("-")[0] for task in window)
    for stratum, members in enumerate(strata):
        share = size * members / count
        assert math.floor(share) <= got[f"s{stratum}"] <= math.ceil(share)


def test_every_pair_of_tasks_and_of_strata_meets_equally_often():
    """Equal inclusion alone would allow windows that always hold the same neighbours."""
    rng = np.random.default_rng(7)
    alone, apart = PanelA(tasks=tasks(6)), PanelA(tasks=tasks(3, 3, 3, 3))
    pairs = Counter(tuple(sorted(draw_window(alone, 2, rng).tasks)) for _ in range(6000))
    strata = Counter(tuple(sorted(task[:2] for task in draw_window(apart, 2, rng).tasks)) for _ in range(6000))
    assert len(pairs) == 15
    assert len(strata) == 6
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-4
    assert stats.chisquare(list(strata.values())).pvalue > 1e-4


def test_exactly_equal_probability_by_counting_all_starts():
    """The law itself, not a sample of it: over all starts each place of the line is hit equally often."""
    for count in range(1, 30):
        for size in range(1, count + 1):
            hits = Counter((start + step * count) // size for start in range(count) for step in range(size))
            assert hits == dict.fromkeys(range(count), size)


@pytest.mark.parametrize("size", [0, -1, 6])
def test_windows_that_do_not_fit_are_refused(size):
    with pytest.raises(TaskError, match="window"):
        draw_window(PanelA(tasks=tasks(2, 3)), size, np.random.default_rng(0))


def test_an_empty_panel_has_no_window():
    with pytest.raises(TaskError, match="does not fit"):
        draw_window(PanelA(tasks=()), 1, np.random.default_rng(0))


def test_the_same_generator_state_draws_the_same_window():
    panel = PanelA(tasks=tasks(4, 9))
    windows = {draw_window(panel, 5, np.random.default_rng(3)).tasks for _ in range(3)}
    assert len(windows) == 1
