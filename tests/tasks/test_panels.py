"""Panels are disjoint. Windows are stratified, and every task has the same probability."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skillsv.errors import TaskError
from skillsv.model.task import PanelA, Task
from skillsv.tasks import KnownPanels, draw_window, split_panels


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
def test_panels_are_disjoint_and_have_the_requested_sizes(count, a, b, seed):
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
def test_sizes_shares_and_defaults_of_panels(a, b, sizes):
    panel_a, panel_b = split_panels(tasks(11), a=a, b=b, seed=1)
    assert (len(panel_a.tasks), len(panel_b.tasks)) == sizes


def test_share_that_is_an_integer_number_of_tasks_is_exact():
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


def test_empty_list_of_tasks_is_refused():
    with pytest.raises(TaskError, match="There are no tasks"):
        split_panels((), a=None, b=None, seed=1)


def test_single_task_goes_to_panel_a():
    panel_a, panel_b = split_panels(tasks(1), a=None, b=None, seed=1)
    assert (len(panel_a.tasks), len(panel_b.tasks)) == (1, 0)


def test_panels_depend_on_the_seed_and_not_on_the_order_of_tasks():
    everything = tasks(30)
    assert ids(split_panels(everything, a=10, b=10, seed=5)[0]) == ids(
        split_panels(everything[::-1], a=10, b=10, seed=5)[0]
    )
    assert ids(split_panels(everything, a=10, b=10, seed=5)[0]) != ids(split_panels(everything, a=10, b=10, seed=6)[0])


@pytest.mark.parametrize(
    ("strata", "size"), [((1, 2, 17, 5, 31), 8), ((1, 1, 1, 20), 3), ((1, 9), 9), ((7,), 3), ((3, 3, 3), 2)]
)
def test_every_task_is_drawn_equally_often(strata, size):
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
def test_window_has_distinct_tasks_and_its_share_of_each_stratum(strata, data):
    panel = PanelA(tasks=tasks(*strata))
    count = len(panel.tasks)
    size = data.draw(st.integers(1, count))
    window = draw_window(panel, size, np.random.default_rng(data.draw(st.integers(0, 10_000)))).tasks
    assert len(window) == len(set(window)) == size
    got = Counter(task.split("-")[0] for task in window)
    for stratum, members in enumerate(strata):
        share = size * members / count
        assert math.floor(share) <= got[f"s{stratum}"] <= math.ceil(share)


def test_every_pair_of_tasks_and_of_strata_is_drawn_equally_often():
    """Equal probabilities of single tasks would allow windows that always contain the same neighbours."""
    rng = np.random.default_rng(7)
    alone, apart = PanelA(tasks=tasks(6)), PanelA(tasks=tasks(3, 3, 3, 3))
    pairs = Counter(tuple(sorted(draw_window(alone, 2, rng).tasks)) for _ in range(6000))
    strata = Counter(tuple(sorted(task[:2] for task in draw_window(apart, 2, rng).tasks)) for _ in range(6000))
    assert len(pairs) == 15
    assert len(strata) == 6
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-4
    assert stats.chisquare(list(strata.values())).pvalue > 1e-4


def test_all_starts_together_hit_each_task_equally_often():
    """The exact statement, not a sample: over all starts, each position of the line is hit equally often."""
    for count in range(1, 30):
        for size in range(1, count + 1):
            hits = Counter((start + step * count) // size for start in range(count) for step in range(size))
            assert hits == dict.fromkeys(range(count), size)


@pytest.mark.parametrize("size", [0, -1, 6])
def test_window_that_does_not_fit_is_refused(size):
    with pytest.raises(TaskError, match="window"):
        draw_window(PanelA(tasks=tasks(2, 3)), size, np.random.default_rng(0))


def test_window_of_an_empty_panel_is_refused():
    with pytest.raises(TaskError, match="does not fit"):
        draw_window(PanelA(tasks=()), 1, np.random.default_rng(0))


def test_same_generator_state_draws_the_same_window():
    panel = PanelA(tasks=tasks(4, 9))
    windows = {draw_window(panel, 5, np.random.default_rng(3)).tasks for _ in range(3)}
    assert len(windows) == 1


def strata_of(panel):
    return Counter(task.stratum for task in panel.tasks)


def in_strata(count):
    """Tasks of which a tenth is in the stratum `rare`."""
    return tuple(
        replace(task, stratum="rare" if place % 10 == 0 else "usual") for place, task in enumerate(tasks(count))
    )


@pytest.mark.parametrize("seed", range(5))
def test_both_panels_hold_every_stratum_in_proportion(seed):
    panel_a, panel_b = split_panels(in_strata(100), a=40, b=60, seed=seed)
    assert strata_of(panel_a)["rare"] == 4
    assert strata_of(panel_b)["rare"] == 6


def digests(panel):
    return frozenset(task.digest for task in panel.tasks)


@given(
    count=st.integers(4, 40),
    more=st.integers(0, 30),
    seed=st.integers(0, 3),
    other_seed=st.integers(0, 3),
    data=st.data(),
)
def test_panels_only_grow_when_tasks_are_added(count, more, seed, other_seed, data):
    everything = tuple(replace(task, digest=f"d{task.id}") for task in in_strata(count + more))
    drawn = data.draw(st.permutations(everything))
    first_a, first_b = split_panels(drawn[:count], a=None, b=None, seed=seed)
    known = KnownPanels(a=digests(first_a), b=digests(first_b))
    panel_a, panel_b = split_panels(drawn, a=None, b=None, seed=other_seed, known=known)
    assert digests(panel_a) >= digests(first_a)
    assert digests(panel_b) >= digests(first_b)
    assert len(panel_a.tasks) + len(panel_b.tasks) == count + more


def test_a_task_that_a_value_has_seen_is_never_held_out_again():
    everything = tuple(replace(task, digest=f"d{task.id}") for task in tasks(10))
    known = KnownPanels(a=frozenset(task.digest for task in everything[:7]))
    _, panel_b = split_panels(everything, a=None, b=None, seed=1, known=known)
    assert digests(panel_b) == {task.digest for task in everything[7:]}
    with pytest.raises(TaskError, match="has seen 7 of 10"):
        split_panels(everything, a=None, b=5, seed=1, known=known)
