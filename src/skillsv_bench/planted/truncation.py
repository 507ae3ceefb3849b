"""The truncation control: the same chains with and without truncation, and what the omitted suffixes are worth.

A chain that ran to its end is truncated afterwards, at the first prefix within the tolerance. So both versions have the
same order, the same window and the same answers, and their difference is the effect of truncation alone. This works on
planted games, where the true worth of a suffix is known, and on the records of any run with `--tolerance off`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skillsv.errors import RecordsError
from skillsv.extend.comparison import interval
from skillsv.extend.estimators import TruncationAudit, compare_with_control, within
from skillsv.model.coalition import ChainRecord, ChainStep, Coalition, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import Interval
from skillsv_bench.planted.game import PlantedGame
from skillsv_bench.planted.simulate import SharedNoise, make_plans, record_chains
from skillsv_bench.planted.studies import Setting

TOLERANCES = (0.0, 0.05, 0.1, 0.15, 0.25)
"""The tolerances that the control compares; the paper's is 0.05. A window of 8 answers moves in steps of 0.125."""

SCORE_COLUMNS = ("omitted", "low", "high", "true_omitted", "true_low", "true_high", "unit_difference")
"""The columns of a row that hold amounts of score."""

_LEVEL = 0.95
"""Confidence level of the intervals of the mean omitted suffix."""

_ROUNDING = 1e-12
"""A suffix that exceeds the tolerance by less is within it."""

Worth = Callable[[Coalition], float]
"""The true score of a coalition on all tasks of the panel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationControl:
    """One tolerance on paired chains. Amounts of score are shares.

    `truncated` is the share of chains that end early. `omitted` is the mean over those of the marginals that were left
    out, summed over the suffix, on the chain's own window, with its interval; `beyond` is the share of chains on which
    the sum exceeds the tolerance in size. `true_omitted` and `true_beyond` are the same for the true marginals on the
    whole panel, None where they are not known. `unit` has the largest mean difference between its values with and
    without truncation, `unit_difference`. `gamma` is the share of intermediate prefixes that were evaluated, `saved`
    the share of rollouts that truncation saves.
    """

    operator: str
    tolerance: float
    chains: int
    truncated: float
    omitted: float
    low: float
    high: float
    beyond: float
    true_omitted: float | None
    true_low: float | None
    true_high: float | None
    true_beyond: float | None
    unit: str
    unit_difference: float
    gamma: float
    saved: float


def study_truncation(
    game: PlantedGame, setting: Setting, *, repetitions: int, seed: int, tolerances: Sequence[float] = TOLERANCES
) -> tuple[TruncationControl, ...]:
    """The control on a planted game: `repetitions` runs of untruncated chains, each truncated at every tolerance."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(repetitions):
        plans = make_plans(game, rng, chains=setting.chains, window=setting.window, tolerance=None)
        shared_noise = SharedNoise.draw(game, rng)
        runs.append(record_chains(game, plans, noise=setting.noise, shared_noise=shared_noise))

    def worth(coalition: Coalition) -> float:
        return float(game.chances(game.column_mask([coalition]), setting.noise).mean())

    return control_truncation(game.compiled, runs, tolerances=tolerances, worth=worth)


def control_truncation(
    compiled: CompiledSkill,
    runs: Sequence[Sequence[ChainRecord]],
    *,
    tolerances: Sequence[float] = TOLERANCES,
    worth: Worth | None = None,
) -> tuple[TruncationControl, ...]:
    """The control on finished runs of untruncated chains, a row for each operator and tolerance."""
    if any(record.truncated_at is not None or record.plan.tolerance is not None for run in runs for record in run):
        raise RecordsError(
            "some chains were run with truncation, so they are no control.", hint="Run them with --tolerance off."
        )
    operators = runs[0][0].plan.operators
    return tuple(
        _control(compiled, runs, operator, tolerance, worth) for operator in operators for tolerance in tolerances
    )


def _control(
    compiled: CompiledSkill,
    runs: Sequence[Sequence[ChainRecord]],
    operator: Operator,
    tolerance: float,
    worth: Worth | None,
) -> TruncationControl:
    cut_runs = [[truncate(record, tolerance) for record in run] for run in runs]
    audits = [
        compare_with_control(compiled, cut, run, operator=operator) for cut, run in zip(cut_runs, runs, strict=True)
    ]
    records = [record for run in cut_runs for record in run]
    omitted = [total for audit in audits for total in audit.omitted]
    true = None if worth is None else [_true_suffix(record, worth) for record in records if record.truncated_at]
    unit, difference = _largest_difference(audits)
    mean, true_mean = _mean(omitted), None if true is None else _mean(true)
    return TruncationControl(
        operator=str(operator),
        tolerance=tolerance,
        chains=len(records),
        truncated=len(omitted) / len(records),
        omitted=mean.value,
        low=mean.low,
        high=mean.high,
        beyond=_share_beyond(omitted, tolerance, len(records)),
        true_omitted=None if true_mean is None else true_mean.value,
        true_low=None if true_mean is None else true_mean.low,
        true_high=None if true_mean is None else true_mean.high,
        true_beyond=None if true is None else _share_beyond(true, tolerance, len(records)),
        unit=unit,
        unit_difference=difference,
        gamma=_evaluated_prefixes(records) / max(1, sum(_intermediate(record) for record in records)),
        saved=1 - _rollouts(cut_runs) / _rollouts(runs),
    )


def truncate(record: ChainRecord, tolerance: float) -> ChainRecord:
    """The record that Algorithm 1 would have made of this chain with a tolerance: the gate holds for all operators."""
    steps: list[ChainStep] = []
    for position in range(1, len(record.plan.order)):
        here = [step for step in record.steps if step.position == position]
        steps += here
        if position <= _intermediate(record) and all(within(step.scores, record.full, tolerance) for step in here):
            return _with_steps(record, steps, tolerance, position)
    return _with_steps(record, steps, tolerance, None)


def _with_steps(record: ChainRecord, steps: list[ChainStep], tolerance: float, cut: int | None) -> ChainRecord:
    plan = replace(record.plan, tolerance=tolerance)
    return replace(record, plan=plan, steps=tuple(steps), truncated_at=cut)


def _intermediate(record: ChainRecord) -> int:
    """The number of prefixes between {m} and the full skill: n - 2."""
    return len(record.plan.order) - 2


def _true_suffix(record: ChainRecord, worth: Worth) -> float:
    """The true marginals of the omitted units, summed: V(N) - V(S_j)."""
    order = record.plan.order
    return worth(frozenset(order)) - worth(frozenset(order[: (record.truncated_at or 0) + 1]))


def _mean(values: Sequence[float]) -> Interval:
    """Mean and bootstrap interval over chains; zero where no chain was truncated, for then nothing was omitted."""
    if not values:
        return Interval(0.0, 0.0, 0.0)
    return interval(np.array(values), _LEVEL, np.random.default_rng(len(values)))


def _share_beyond(values: Sequence[float], tolerance: float, chains: int) -> float:
    return sum(abs(value) > tolerance + _ROUNDING for value in values) / chains


def _largest_difference(audits: Sequence[TruncationAudit]) -> tuple[str, float]:
    """The unit whose value truncation changes most, and by how much, over all runs."""
    means = {
        unit: float(np.mean([audit.units[unit].value for audit in audits]))
        for unit in (audits[0].units if audits else ())
    }
    return max(means.items(), key=lambda pair: abs(pair[1]))


def _evaluated_prefixes(records: Sequence[ChainRecord]) -> int:
    return sum(record.truncated_at or _intermediate(record) for record in records)


def _rollouts(runs: Sequence[Sequence[ChainRecord]]) -> int:
    """The rollouts of all chains: the bare agent, {m} and the prefixes under each operator, and the full skill once."""
    return sum(_chain_rollouts(record) for run in runs for record in run)


def _chain_rollouts(record: ChainRecord) -> int:
    operators = len(record.plan.operators)
    prefixes = record.truncated_at or _intermediate(record)
    return len(record.plan.window.tasks) * (2 + operators + operators * prefixes)
