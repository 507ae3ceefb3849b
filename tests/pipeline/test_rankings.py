"""The pruning paths of the methods that are compared."""

from types import SimpleNamespace

import numpy as np
import pytest

from skillsv.model.value import Interval, Ranking
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.rankings import pruning_paths
from skillsv.settings import Settings
from skillsv_bench.planted import Noise, planted_skill
from skillsv_bench.planted.game import Role
from skillsv_bench.planted.simulate import SharedNoise, make_plans, record_chains


@pytest.fixture(scope="module")
def game():
    return planted_skill("mechanism")


@pytest.fixture(scope="module")
def run(game):
    rng = np.random.default_rng(0)
    plans = make_plans(game, rng, chains=64, window=8, tolerance=None)
    records = record_chains(game, plans, noise=Noise(), shared_noise=SharedNoise.draw(game, rng))
    renderer = make_renderer(game.compiled, Settings())
    return SimpleNamespace(compiled=game.compiled, records=records, observations=(), renderer=renderer)


def removed_roles(game, run, method):
    values = zip(game.compiled.execution, game.truth(Noise()).tolist(), strict=True)
    ranking = Ranking(method=method, values={unit: Interval(value, value, value) for unit, value in values})
    (path,) = pruning_paths(run, method, [ranking])
    return [game.role_of[step.unit] for step in path]


def test_the_papers_curve_removes_units_in_ascending_value(game, run):
    pairs = [Role.AND, Role.AND, Role.OR, Role.OR]
    assert removed_roles(game, run, "skillsv") == [Role.HARMFUL, Role.DEAD, *pairs, Role.STRONG]


def test_the_pair_aware_curve_keeps_one_of_two_redundant_units(game, run):
    roles = removed_roles(game, run, "skillsv-pairs")
    assert roles[0] is Role.HARMFUL
    assert set(roles[1:3]) == {Role.DEAD, Role.OR}
    assert roles[3:5] == [Role.AND, Role.AND]
    assert set(roles[5:]) == {Role.OR, Role.STRONG}
