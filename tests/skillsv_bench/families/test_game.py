from dataclasses import replace

import numpy as np
import pytest

from skillsv.errors import SettingsError
from skillsv.extend.estimators import Sampler
from skillsv_bench.families import KINDS, NOISES, draw_game
from skillsv_bench.families.game import TASKS, UNITS


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_dead_units_and_closure_of_every_kind(kind):
    for seed in range(2):
        game = draw_game(kind, seed)
        units = len(game.compiled.execution)
        assert UNITS[0] <= units <= UNITS[1]
        assert TASKS[0] <= len(game.tasks) <= TASKS[1]
        assert 0.3 < 1 - len(game.traits.live) / units < 0.65
        effects = game.effects(NOISES["T=0"])
        ends = game.chances(np.array([[False], [True]]) & np.ones(units, dtype=bool), NOISES["T=0"])
        assert effects.sum(axis=0) == pytest.approx(np.diff(ends, axis=0)[0])
        if kind not in {"position", "mixed"}:  # there any text moves the others
            dead = np.delete(np.arange(units), list(game.traits.live))
            assert np.abs(effects[dead]).max() < 1e-9


def test_the_same_seed_gives_the_same_game_and_new_tasks_are_new():
    one, again, other = draw_game("mixed", 5), draw_game("mixed", 5), draw_game("mixed", 6)
    assert one.compiled.execution == again.compiled.execution
    assert (one.truth(NOISES["T=0"]) == again.truth(NOISES["T=0"])).all()
    assert one.tasks[0].id not in {task.id for task in one.with_new_tasks(50).tasks}
    assert one.with_new_tasks(50).formulas[3].base == one.with_new_tasks(50).formulas[3].base
    assert one.formulas[0].base != other.formulas[0].base


@pytest.mark.heavy
def test_exact_values_are_means_of_marginals_over_orders():
    game = draw_game("position", 2, units=15, tasks=20)
    column = {unit: place for place, unit in enumerate(game.compiled.execution)}
    orders = Sampler(game.compiled).orders(np.random.default_rng(1), 1500)
    total = np.zeros(15)
    for order in orders:
        places = [column[unit] for unit in order[1:]]
        prefixes = np.array([np.isin(np.arange(15), places[:size]) for size in range(16)])
        total[places] += np.diff(game.chances(prefixes, NOISES["T=.25"]).mean(axis=1))
    assert total / 1500 == pytest.approx(game.truth(NOISES["T=.25"]), abs=0.006)


def test_a_unit_counts_less_in_the_middle():
    game = draw_game("position", 3, units=15, tasks=20)
    unit = game.traits.live[0]
    formula = replace(game.formulas[0], main=np.eye(15)[unit], base=0.0)
    game = replace(game, tasks=game.tasks[:1], formulas=(formula,))
    alone, full = np.eye(15, dtype=bool)[unit], np.ones(15, dtype=bool)
    middle = np.zeros(15, dtype=bool)
    middle[[max(unit - 1, 0), unit, min(unit + 1, 14)]] = True
    logits = game.logits(np.array([alone, full, middle]))[:, 0]
    assert logits[0] == pytest.approx(1.0)
    assert logits.min() < 0.95


def test_an_unknown_kind_is_refused():
    with pytest.raises(SettingsError, match="no kind of game"):
        draw_game("nothing", 0)
