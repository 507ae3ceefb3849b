"""The study of `shrink`: proven tokens at equal budgets, beside a random and an oracle's choice; wrong proofs.

Every game has a panel of 60 tasks for values, 150 held-out tasks, and 6,000 further tasks that tell what a deletion
really loses. The seeds are not those that constants were chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from skillsv.extend.estimators import Renderer
from skillsv.extend.shrinking import Gate, ShrinkGoal, ShrinkPlan, candidate_sets, closures
from skillsv.model.coalition import Operator
from skillsv.model.edit import ProofOutcome
from skillsv_bench.families import KINDS, NOISES, FamilyGame, FamilyNoise, FamilyPlayer, draw_game
from skillsv_bench.shrinking.play import MemoryLedger, Play, Table, evidence_of, play, prove_in_turn

NOISY = tuple(name for name, noise in NOISES.items() if not noise.steady)
"""The kinds of noise that games take in turn."""

STEADY = tuple(name for name, noise in NOISES.items() if noise.steady)
"""Agents that repeat themselves."""

TRUE_TASKS = 6000
"""Further tasks that tell what a deletion loses: their mean is known within half a point."""

PANEL_A = 60
"""Tasks for values."""

PANEL_B = 150
"""Held-out tasks."""

FIRST_SEED = 30_000
"""The first seed of the reported games; constants were chosen on seeds from 900 to 905 and from 20,000 to 24,013.

Games from 8,000 on were reported with earlier constants."""

RANDOM_SHARE = 0.25
"""Share of the units that the random arm deletes."""

LOSSY = 0.05
"""A loss of the score that counts as one in the lines of progress."""

CHECKS = ("checked", "near limit")
"""Arms that tell how often proofs are wrong."""

CHECKED_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares of the units in random deletions whose proofs are checked besides: some of them really lose too much."""

NEAR = 1.5
"""Sets that lose up to so many times the limit lie near it; their proofs go wrong most often."""

NEAR_SETS = 4
"""Random sets near the limit that are looked for in each game, and proved at every budget."""

NEAR_TRIES = 60
"""Random sets that are tried to find them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One set that was proved in one game: by which arm, whether it passed, and what it really loses on new tasks."""

    arm: str
    game: str
    kind: str
    noise: str
    rollouts: int
    share: float
    passed: bool
    drop: float
    forecast: float | None = None
    planned: bool = True
    first_passed: bool = False


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What deletions really lose, on further tasks of the same kind."""

    game: FamilyGame
    noise: FamilyNoise

    @cached_property
    def new_tasks(self) -> FamilyGame:
        """The game with the further tasks."""
        return self.game.with_new_tasks(TRUE_TASKS)

    def drop(self, removed: frozenset[str]) -> float:
        """The loss of the expected score."""
        game = self.new_tasks
        units = game.compiled.execution
        rows = np.array([[True] * len(units), [unit not in removed for unit in units]])
        full, less = game.chances(rows, self.noise).mean(axis=1).tolist()
        return float(full - less)

    def useless(self) -> frozenset[str]:
        """All dead and harmful units that can go without a useful one: what an oracle deletes."""
        units = self.game.compiled.execution
        useless = {unit for unit, strength in zip(units, self.game.traits.strength, strict=True) if strength <= 0}
        groups = closures(self.game.compiled)
        return frozenset(unit for unit in useless if groups[unit] <= useless)

    def near_limit(self, limit: float) -> list[frozenset[str]]:
        """Some random sets that lose a little more than the limit."""
        rng = np.random.default_rng([self.game.seed, NEAR_TRIES])
        most = max(CHECKED_SHARES)
        tried = (_random_set(self.game, rng.uniform(0.0, most), rng) for _ in range(NEAR_TRIES))
        return list(islice((one for one in tried if limit < self.drop(one) <= NEAR * limit), NEAR_SETS))

    def panel(self, first: int) -> FamilyGame:
        """The game with a panel of held-out tasks from the further tasks, from this number on."""
        game, part = self.new_tasks, slice(first, first + PANEL_B)
        return replace(game, tasks=game.tasks[part], formulas=game.formulas[part])


def tables(
    games: int, noises: Sequence[str], *, first_seed: int = FIRST_SEED, panel_b: int = PANEL_B
) -> Iterator[Table]:
    """The games of a study: all kinds in turn, with the kinds of noise in turn."""
    for number in range(games):
        kind, noise = KINDS[number % len(KINDS)], noises[number % len(noises)]
        seed = first_seed + number
        game = draw_game(kind, seed, tasks=PANEL_A + panel_b)
        names = tuple(task.id for task in game.tasks)
        yield Table(
            game=game,
            noise=NOISES[noise],
            noise_name=noise,
            panel_a=names[:PANEL_A],
            held_out=names[PANEL_A:],
            seed=seed,
        )


def run_study(
    found: Iterator[Table],
    budgets: Sequence[int],
    *,
    gate: Gate,
    same_tasks: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Trial]:
    """Play every game at every budget."""
    trials: list[Trial] = []
    for table in found:
        truth = Truth(game=table.game, noise=table.noise)
        near = [] if same_tasks else truth.near_limit(gate.max_drop)
        for rollouts in budgets:
            goal = ShrinkGoal(rollouts=rollouts, gate=gate, same_tasks=same_tasks)
            found_here = list(_trials(table, goal, truth, near))
            trials += found_here
            tell(_progress(table, rollouts, found_here))
    return trials


def _progress(table: Table, rollouts: int, trials: Sequence[Trial]) -> str:
    """One line about one play: what each arm proved, and the forecast and loss of the product's set."""
    proven = ", ".join(f"{one.arm} {one.share * one.passed:.2f}" for one in trials if one.arm not in CHECKS)
    first = trials[0]
    power = "" if first.forecast is None else f", forecast {first.forecast:.2f}"
    wrong = sum(one.passed for one in trials if one.drop > LOSSY)
    lossy = sum(one.drop > LOSSY for one in trials)
    return (
        f"{table.game.name}, {table.noise_name}, {rollouts:,} rollouts: {proven}{power}, first passed "
        f"{first.first_passed}, real drop {100 * first.drop:.1f}, {wrong} of {lossy} lossy sets passed"
    )


def _trials(table: Table, goal: ShrinkGoal, truth: Truth, near: Sequence[frozenset[str]]) -> Iterator[Trial]:
    played = play(table, goal)
    yield _shrunk(table, goal, played, truth)
    for chosen, result in zip(played.chosen[1:], played.results[1:], strict=False):
        passed = result.confirmation.outcome is ProofOutcome.NO_WORSE
        yield _trial(table, goal, "next set", chosen.removed, truth, passed=passed)
    if goal.same_tasks:
        return
    rng = np.random.default_rng([table.seed, goal.rollouts])
    yield _proved(table, played.plan, "oracle", truth.useless(), truth)
    yield _proved(table, played.plan, "random", _random_set(table.game, RANDOM_SHARE, rng), truth)
    for share in CHECKED_SHARES:
        yield _proved(table, played.plan, "checked", _random_set(table.game, share, rng), truth)
    for removed in near:
        yield _proved(_with_fresh_panel(table, truth, rng), played.plan, "near limit", removed, truth)


def _with_fresh_panel(table: Table, truth: Truth, rng: np.random.Generator) -> Table:
    """The same skill and agent with other held-out tasks and other noise, so that proofs do not share their errors."""
    game = truth.panel(int(rng.integers(TRUE_TASKS - PANEL_B)))
    return replace(table, game=game, held_out=tuple(task.id for task in game.tasks), seed=int(rng.integers(2**31)))


def _shrunk(table: Table, goal: ShrinkGoal, played: Play, truth: Truth) -> Trial:
    """The trial of `shrink` itself: the set that passed, else the first one."""
    chosen = played.proven or (played.chosen[0] if played.chosen else None)
    removed = frozenset[str]() if chosen is None else chosen.removed
    forecast = played.chosen[0].power if played.chosen else 0.0
    trial = _trial(table, goal, "shrink", removed, truth, passed=played.proven is not None)
    first_passed = played.proven is not None and played.proven is played.chosen[0]
    return replace(trial, forecast=forecast, planned=played.plan.worthwhile, first_passed=first_passed)


def _proved(table: Table, plan: ShrinkPlan, arm: str, removed: frozenset[str], truth: Truth) -> Trial:
    """Another choice, proved with as many pairs as the product's."""
    goal = plan.goal
    if not removed:
        return _trial(table, goal, arm, removed, truth, passed=False)
    ledger = MemoryLedger(FamilyPlayer(table.game, table.noise, table.seed + 1))
    rng = np.random.default_rng([table.seed, goal.rollouts, 1])
    results = prove_in_turn(evidence_of(table), table.held_out, ledger, plan, [removed], rng=rng)
    passed = bool(results) and results[0].confirmation.outcome is ProofOutcome.NO_WORSE
    return _trial(table, goal, arm, removed, truth, passed=passed)


def _trial(table: Table, goal: ShrinkGoal, arm: str, removed: frozenset[str], truth: Truth, *, passed: bool) -> Trial:
    return Trial(
        arm=arm,
        game=table.game.name,
        kind=table.game.kind,
        noise=table.noise_name,
        rollouts=goal.rollouts,
        share=token_share(table.game, removed),
        passed=passed,
        drop=truth.drop(removed) if removed else 0.0,
    )


def token_share(game: FamilyGame, removed: frozenset[str]) -> float:
    """The share of all tokens of the skill that goes with these units."""
    renderer = Renderer(game.compiled)
    left = renderer.render(game.compiled.everything - removed, Operator.DELETE)
    return 1 - renderer.count_tokens(left) / renderer.total_tokens


def _random_set(game: FamilyGame, share: float, rng: np.random.Generator) -> frozenset[str]:
    """The first set of a random order that has at least this share of the units."""
    units = game.compiled.execution
    order = [units[place] for place in rng.permutation(len(units)).tolist()]
    sets = candidate_sets([order], closures(game.compiled))
    return next(removed for removed in sets if len(removed) >= share * len(units))
