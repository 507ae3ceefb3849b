"""Where a steady agent's scores differ from what earlier agents' scores forecast."""

import numpy as np
from scored_agents import FIRST, TASKS, UNITS, contradicted_by, needs, scored

from skillsv.estimate.adaptive.earlier_comparison import compare_with_earlier, find_open


def test_a_task_is_contradicted_only_by_all_earlier_agents():
    own = scored(needs(lambda task: 0 if task < 6 else 5))
    second = scored(needs(lambda task: 1 if task < 4 else 0))
    assert contradicted_by(own, [FIRST]).tolist() == [task % 3 != 0 or task >= 6 for task in range(TASKS)]
    both = contradicted_by(own, [FIRST, second])
    assert both.tolist() == [task in (1, 2, 6, 7) for task in range(TASKS)]
    assert compare_with_earlier(own, [], TASKS) is None


def test_an_agent_that_did_not_search_a_task_says_nothing_of_it():
    anchors, own = scored(needs(lambda task: 0), (0, 63)), scored(needs(lambda task: 5))
    assert contradicted_by(own, [FIRST]).all()
    assert contradicted_by(own, [FIRST, anchors]).all(), "the other agent searched the tasks"
    alike = scored(lambda task, mask: mask == 63)
    assert not contradicted_by(alike, [scored(lambda task, mask: mask >= 0, (0, 63))]).any()


def test_scores_of_an_agent_that_holds_count_from_its_last_finding_on():
    first = scored(needs(lambda task: 0), (0, 63, 62, 3, 5, 6))
    compared = compare_with_earlier(scored(needs(lambda task: 0 if task < 4 else 5), (0, 63, 62)), [first], TASKS)
    assert compared.agreeing.tolist() == [3] * 4 + [0] * 4, "three scores came after the one that showed unit 0"
    assert compared.shared.tolist() == [[unit == 0 for unit in range(UNITS)]] * TASKS
    some = compared.on_tasks(np.arange(TASKS) >= 3)
    assert some.agreeing.tolist() == [3, 0, 0, 0, 0]
    assert some.contradicted.tolist() == [False, True, True, True, True]


def test_a_task_is_open_while_its_known_units_do_not_explain_its_scores():
    traced = scored(needs(lambda task: 0), (0, 63, 62))
    assert not find_open(traced, TASKS).any()
    assert find_open(scored(needs(lambda task: 0), (0, 63)), TASKS).all()
    assert find_open(scored(lambda task, mask: mask & 1 and mask & 2, (0, 63, 62, 1)), TASKS).all()
    assert not find_open(scored(lambda task, mask: True), TASKS).any(), "no score differs"
