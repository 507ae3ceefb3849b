"""The plan of a shrink: what it may spend, and what that can prove. Runs nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillsv.api.consent import require_consent, runs_only_own_code
from skillsv.api.inputs import Inputs
from skillsv.api.plan import amount_lines
from skillsv.api.run_place import TemporaryFolder, choose_place
from skillsv.api.shorten import level_as_share
from skillsv.api.shrink_limits import require_first_batch
from skillsv.api.skill import Skill, compile, compiler_settings  # noqa: A004 - the public name
from skillsv.confirmation import Gate
from skillsv.confirmation.gate import DEFAULT_MAX_DROP
from skillsv.errors import SettingsError
from skillsv.pipeline.cost import measured_cost, require_measurable_budget
from skillsv.pipeline.job import ValuationJob
from skillsv.pipeline.shrink_advice import advice, before_first_batch, plan_lines
from skillsv.pipeline.shrink_plan import ShrinkGoal
from skillsv.pipeline.shrink_preparation import PreparedShrink, ShrinkOptions, prepare_shrink
from skillsv.rollout import PerRollout, RunFolder
from skillsv.rollout.forecast import Cost, cost_of
from skillsv.settings import load_settings, share_of_points, small_settings

DEFAULT_ROLLOUTS = 800
"""The budget of a shrink where no limit is given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShrinkPlan:
    """A shrink that is prepared: what it may spend, and what that can prove. `lines` says it in words."""

    shrink: PreparedShrink
    folder: RunFolder
    skill: Skill
    inputs: Inputs
    notes: tuple[str, ...] = ()
    temporary: TemporaryFolder | None = None
    per_rollout: PerRollout = field(default_factory=PerRollout)

    @property
    def has_limit(self) -> bool:
        """Whether the user gave a limit."""
        return self.shrink.prepared.job.settings.has_limit

    @property
    def cost(self) -> Cost:
        """The cost of the whole budget, as far as rollouts of the agent were measured."""
        jobs = self.shrink.prepared.job.settings.jobs
        return cost_of(self.shrink.goal.rollouts, self.per_rollout, jobs=jobs)

    def lines(self) -> list[str]:
        """What it may cost, and what can be proven with the budget."""
        shrink = self.shrink
        forecast = f"Forecast: at most {shrink.goal.rollouts:,} rollouts."
        lines = [forecast, *amount_lines(self.cost), *plan_lines(shrink.plan)]
        if not shrink.plan.worthwhile:
            lines.append(before_first_batch(advice(shrink.plan)))
        return lines


@dataclass(frozen=True, kw_only=True)
class ProofArguments:
    """What must be proved, as callers write it: points and percent."""

    max_drop: float = 100 * DEFAULT_MAX_DROP
    level: float = 95
    same_tasks: bool = False

    def goal(self, rollouts: int) -> ShrinkGoal:
        """The goal with a budget."""
        gate = Gate(max_drop=share_of_points(self.max_drop, "max_drop"), level=level_as_share(self.level))
        return ShrinkGoal(rollouts=rollouts, gate=gate, same_tasks=self.same_tasks)


def shrink_options(
    keep: Sequence[str] | str,
    *,
    ask_judge: bool = False,
    editor: str | None = None,
    keep_going: bool = False,
    by_values: bool = False,
    steady_only: bool = False,
) -> ShrinkOptions:
    """The options of a shrink; `keep` is a name or several."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    return ShrinkOptions(
        keep=names,
        ask_judge=ask_judge,
        editor=editor,
        keep_going=keep_going,
        by_values=by_values,
        steady_only=steady_only,
    )


def make_shrink_plan(
    skill: Skill | str | os.PathLike[str],
    inputs: Inputs,
    given: dict[str, object],
    *,
    goal: ProofArguments,
    options: ShrinkOptions,
    run_dir: Path | None = None,
    default_dir: Callable[[str], Path] | None = None,
    fresh: bool = False,
    agents: int = 1,
) -> ShrinkPlan:
    """The plan of a shrink. Runs nothing and writes nothing. The limits are the share of one of so many `agents`."""
    notes: list[str] = []
    if inputs.verifier_spec is not None:
        given = {**given, "verifier": inputs.verifier_spec}
    compiled = compile(skill, **compiler_settings(given))
    settings = load_settings(compiled.path, {**compiled.settings, **given}, note=notes.append)
    notes += [f"Note: {note}" for note in small_settings(settings)]
    if inputs.agent_spec is None or (inputs.tasks is None and inputs.examples is None):
        raise SettingsError("a shrink needs tasks and an agent.", hint="Pass tasks= and agent=, or evaluate=.")
    job = ValuationJob(
        skill=compiled.path,
        tasks=inputs.path,
        agent=inputs.agent_spec,
        settings=settings,
        folder=Path.cwd(),
        task_source=inputs.source(),
        compiled=compiled.compiled,
        agents=agents,
    )
    place = choose_place(compiled.path, compiled.name, run_dir, default_dir)
    folder = place.folder
    prepared = prepare_shrink(job, folder, goal.goal(settings.max_rollouts or DEFAULT_ROLLOUTS), options, fresh=fresh)
    measured = measured_cost(folder, prepared.prepared.agent.fingerprint)
    require_measurable_budget(job, measured)
    require_first_batch(prepared, folder, measured, agents)
    return ShrinkPlan(
        shrink=_with_own_limit(prepared, settings.max_rollouts),
        folder=folder,
        skill=compiled,
        inputs=inputs,
        notes=(*notes, *place.notes),
        temporary=place.temporary,
        per_rollout=measured,
    )


def _with_own_limit(prepared: PreparedShrink, limit: int | None) -> PreparedShrink:
    """The shrink with the limit that the user gave: the default budget is no agreement to the cost."""
    job = prepared.prepared.job
    job = replace(job, settings=replace(job.settings, max_rollouts=limit))
    return replace(prepared, prepared=replace(prepared.prepared, job=job))


def require_shrink_consent(plan: ShrinkPlan, forecast: str, *, yes: bool) -> None:
    """Raise SettingsError unless the caller agreed to the forecast, or wrote all the code that spends."""
    prepared = plan.shrink.prepared
    tasks = (*prepared.panel_a.tasks, *plan.shrink.held_out)
    options = plan.shrink.options
    own_code = runs_only_own_code(plan.inputs, tasks) and not options.ask_judge and options.editor is None
    require_consent(forecast, agreed=yes or plan.has_limit, own_code=own_code)
