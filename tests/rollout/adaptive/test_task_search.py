import numpy as np

from skillsv.model.coalition import AdaptiveReason
from skillsv.model.task_table import TaskTable
from skillsv.rollout.adaptive.allocation import SETTLED_SHARE, choose_search_tasks
from skillsv.rollout.adaptive.order_pool import OrderPool
from skillsv.rollout.adaptive.task_search import SAMPLED_SHARE, UnitFindings, choose_probe

UNITS = 8
GAIN, HARM = 2, 5


def make_pool(rng):
    orders = np.array([rng.permutation(UNITS) for _ in range(200)])
    return OrderPool(orders=orders, place=np.argsort(orders, axis=1))


def table_with(ends):
    table = TaskTable()
    for mask, score in zip((0, (1 << UNITS) - 1), ends, strict=True):
        table.add(mask, (score,))
    return table


def probes(table, effect, count=200):
    rng = np.random.default_rng(4)
    pool = make_pool(rng)
    units = UnitFindings(decided=np.abs(effect), effect=effect)
    return [choose_probe(table, pool, rng, units) for _ in range(count)]


def test_a_share_of_the_probes_is_drawn_from_mu():
    reasons = [why for _, why in probes(table_with((0.0, 0.0)), np.zeros(UNITS))]
    share = reasons.count(AdaptiveReason.SAMPLE) / len(reasons)
    assert abs(share - SAMPLED_SHARE) < 0.1


def test_equal_anchors_are_doubted_with_the_gains_and_without_the_harms():
    effect = np.zeros(UNITS)
    effect[GAIN], effect[HARM] = 3.0, -3.0

    def held(ends):
        masks = [mask for mask, why in probes(table_with(ends), effect) if why is AdaptiveReason.VERIFY]
        return np.mean([(mask >> GAIN & 1) - (mask >> HARM & 1) for mask in masks])

    assert held((0.0, 0.0)) > 0.4
    assert held((1.0, 1.0)) < -0.4


def test_first_rounds_search_tasks_with_equal_anchors_too():
    tables = [table_with((0.0, 1.0)) for _ in range(20)] + [table_with((1.0, 1.0)) for _ in range(20)]
    chosen = choose_search_tasks(tables, np.zeros(40, dtype=np.int64), None, 12, np.random.default_rng(1))
    assert len(set(chosen)) == 12
    assert sum(task >= 20 for task in chosen) == int(SETTLED_SHARE * 12)
