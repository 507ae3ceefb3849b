"""In the flat, unconstrained case the values are Shapley values: compared with shapiq's exact computer."""

from itertools import permutations

import numpy as np
import pytest

from skillsv.estimate import estimate_chains

UNITS = ("a", "b", "c", "d")
TASKS = ("t0", "t1", "t2")


def test_all_orders_on_the_whole_panel_give_exact_shapley_values(make_skill, make_chain):
    shapiq = pytest.importorskip("shapiq")
    rng = np.random.default_rng(4)
    table = {
        frozenset(unit for place, unit in enumerate(UNITS) if bits >> place & 1): rng.random(len(TASKS))
        for bits in range(2 ** len(UNITS))
    }

    def game(coalition, task, operator):
        return float(table[coalition - {"m"}][TASKS.index(task)])

    def panel_value(coalitions):
        kept = (frozenset(unit for unit, there in zip(UNITS, row, strict=True) if there) for row in coalitions)
        return np.array([table[coalition].mean() for coalition in kept])

    records = [make_chain(k, ("m", *order), TASKS, game) for k, order in enumerate(permutations(UNITS))]
    estimate = estimate_chains(make_skill(UNITS), records)
    exact = shapiq.ExactComputer(n_players=len(UNITS), game=panel_value)("SV", order=1)
    assert [unit.net.value for unit in estimate.units] == pytest.approx(
        [exact[(place,)] for place in range(len(UNITS))], abs=1e-12
    )
