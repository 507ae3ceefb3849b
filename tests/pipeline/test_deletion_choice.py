"""The choice of a deletion set from draws whose losses are known."""

import numpy as np
import pytest

from skillsv.confirmation import Gate
from skillsv.confirmation.power import ProofSize
from skillsv.estimate.adaptive.deletion_draws import DeletionDraws
from skillsv.pipeline.deletion_choice import choose_sets

UNITS = ("useful", "dead", "long", "doubtful")
TOKENS = {"useful": 50, "dead": 10, "long": 40, "doubtful": 60}
SIZE = ProofSize(pairs=200, tasks=150)


@pytest.fixture(scope="module")
def draws():
    """One useful unit, two dead ones, and one that is useful in nine draws of ten."""
    weights = np.zeros((40, 20, 4))
    weights[:, :, 0] = 3.0
    weights[4:, :, 3] = 3.0
    return DeletionDraws(
        units=UNITS,
        weights=weights,
        full=np.full((40, 20), 2.0),
        shares=np.full((40, 20), 1 / 20),
        dispersion=0.5,
    )


def choose(draws, units):
    groups = {unit: frozenset({unit}) for unit in units}
    return choose_sets(draws, draws, groups=groups, tokens=TOKENS, size=SIZE, gates=[Gate(), Gate(level=0.99)])


def test_the_dead_units_go_and_a_doubtful_one_stays_though_it_is_longer(draws):
    first, *_ = choose(draws, UNITS)
    assert first.removed == {"dead", "long"}
    assert first.drop.value == 0.0
    assert first.power > 0.5


def test_the_next_set_is_clearly_smaller(draws):
    first, second = choose(draws, UNITS)
    assert second.tokens <= 0.75 * first.tokens


def test_nothing_is_chosen_where_no_unit_may_go(draws):
    assert choose(draws, ()) == ()
