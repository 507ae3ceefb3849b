"""`skillsv confirm`: compares the old and the new skill on held-out tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json, given_share
from skillsv.cli.spending_flags import SpendingFlags
from skillsv.errors import SettingsError
from skillsv.model.format import percent, plural, points, short_points, with_bounds

if TYPE_CHECKING:
    from skillsv.confirmation import Comparison, Proof
    from skillsv.pipeline import PreparedConfirmation

DEFAULT_CURVES = ("skillsv", "loo", "random")
"""Methods whose pruning curves are drawn unless --curves names others."""


def confirm(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    skill: Annotated[Path | None, Parameter(help="The new skill [the run's own, pruned by its verdicts].")] = None,
    max_drop: Annotated[
        float | None, Parameter(help="Points that may be lost; fail unless no more is shown [5].")
    ] = None,
    level: Annotated[float, Parameter(help="Confidence level, in percent or as a share.")] = 95,
    curves: Annotated[
        str | None, Parameter(help="Pruning curves: of skillsv,loo,judge,random,skillsv-pairs; 'none' for none.")
    ] = None,
    checkpoints: Annotated[int, Parameter(help="Checkpoints of each curve between its ends.")] = 10,
    replicates: Annotated[int | None, Parameter(help="Rollouts per task and version [1, or 3 if noisy].")] = None,
    pool: Annotated[
        tuple[Path, ...], Parameter(negative=(), help="Other runs, confirmed before, to pool the curves with.")
    ] = (),
    json: Json = False,
    spending: SpendingFlags | None = None,
) -> int:
    """skillsv confirm .skillsv/my-skill --skill my-shorter-skill --max-drop 5 --yes

    Compare old and new on panel B, the tasks that no value has seen, each scored in full. Without --skill the new skill
    is the run's own, pruned by its verdicts, and pruning curves are drawn beside it; --judge adds the curve of a judge.
    The exit code is 3 unless it is shown that no more than --max-drop points are lost. The same command again resumes.
    """
    from skillsv.api.shorten import level_as_share, run_confirmation
    from skillsv.cli.printing import deliver, json_text
    from skillsv.confirmation.gate import DEFAULT_MAX_DROP
    from skillsv.model.concentration import concentration
    from skillsv.pipeline import ConfirmJob, prepare_confirmation
    from skillsv.pipeline.confirm import comparison_dict

    flags = spending or SpendingFlags()
    share = level_as_share(level)
    drop = given_share(max_drop, "--max-drop")
    job = ConfirmJob(
        run=run,
        overrides=flags.overrides(),
        skill=skill,
        curves=_curves(curves, with_skill=skill is not None),
        checkpoints=checkpoints,
        replicates=replicates,
        level=share,
        max_drop=DEFAULT_MAX_DROP if drop is None else drop,
    )
    prepared = prepare_confirmation(job)
    flags.consent(prepared.forecast, [*_judge_advice(prepared), *gate_advice(prepared)])
    proof = flags.spend(lambda listener, stop: run_confirmation(prepared, listener, stop))
    pooled = _pool(proof.result, pool)
    top_share = concentration({unit.id: unit.value.net_or_zero.value for unit in prepared.reopened.run.valuation.units})
    table = proof.to_dict()
    table["pooled"] = [comparison_dict(comparison) for comparison in pooled]
    table["concentration"] = top_share
    lines = (*proof.lines(), *_pooled_lines(pooled, 1 + len(pool)), *_concentration_lines(top_share))
    deliver(json_text(table) if json else "".join(f"{line}\n" for line in lines), None)
    proof.require()
    return 0


def _curves(text: str | None, *, with_skill: bool) -> tuple[str, ...]:
    if text is None:
        return () if with_skill else DEFAULT_CURVES
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not names:
        raise SettingsError("--curves names no method.", hint="Say 'none' for no curves.")
    return () if names == ("none",) else names


def _judge_advice(prepared: PreparedConfirmation) -> list[str]:
    """A sentence for the time before anything is spent: how often the judge is asked to rank units."""
    if "judge" not in prepared.job.curves:
        return []
    units = plural(len(prepared.reopened.run.compiled.execution), "unit")
    return [f"For its curve the judge is asked about {units}, once each; the forecast counts these calls as rollouts."]


def gate_advice(prepared: PreparedConfirmation) -> list[str]:
    """A sentence for the time before anything is spent, where the panel is too small for the gate."""
    from skillsv.confirmation import smallest_drop

    tasks, gate = len(prepared.panel.tasks), prepared.job.gate
    if prepared.versions.same or tasks >= gate.tasks_needed():
        return []
    least = points(smallest_drop(tasks, gate.level), signed=False)
    said = f"If not a single score changes, {tasks} tasks rule out a drop of {least} points and no less"
    return [f"{said}: the gate of {short_points(gate.max_drop)} points then needs {gate.tasks_needed()} tasks."]


def _pool(proof: Proof, others: tuple[Path, ...]) -> tuple[Comparison, ...]:
    """The methods compared over this skill and those of other confirmed runs, each skill with equal weight."""
    from skillsv.confirmation import pooled_comparisons
    from skillsv.pipeline import recorded_areas

    if not others:
        return ()
    return pooled_comparisons([proof.areas, *(recorded_areas(other) for other in others)], level=proof.level)


def _pooled_lines(found: tuple[Comparison, ...], skills: int) -> Iterator[str]:
    for each in found:
        gain = with_bounds(each.difference)
        yield f"Over {skills} skills, {each.first} against {each.second}: {gain} points of area."


def _concentration_lines(best: float | None) -> Iterator[str]:
    if best is not None:
        yield f"On panel A, the best tenth of the units hold {percent(best)} of all that is gained."
