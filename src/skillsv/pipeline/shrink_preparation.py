"""What is known of a shrink before anything is spent: its options, the panels, the plan. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skillsv.decide.deletion_sets import find_kept
from skillsv.model.coalition import Operator
from skillsv.model.task import Task
from skillsv.pipeline.job import (
    PreparedRun,
    ValuationJob,
    load_job_tasks,
    make_manifest,
    prepare,
)
from skillsv.pipeline.panel_history import known_panels, seen_tasks, unseen_tasks
from skillsv.pipeline.shrink_checks import require_editor, require_judge, require_removable
from skillsv.pipeline.shrink_plan import (
    ShrinkGoal,
    ShrinkPlan,
    panel_size,
    plan_shrink,
)
from skillsv.rollout import RunFolder, run_id
from skillsv.settings import Settings
from skillsv.tasks import NO_PANELS, KnownPanels


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkOptions:
    """What a shrink may do besides its goal: units that must stay, a judge's opinion, an editor, doubtful proofs.

    `by_values`: units are valued, and sets chosen by these values, also where the agent repeats itself.
    `steady_only`: nothing more is spent when the agent turns out to be noisy.
    """

    keep: tuple[str, ...] = ()
    ask_judge: bool = False
    editor: str | None = None
    keep_going: bool = False
    by_values: bool = False
    steady_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedShrink:
    """Everything that is known before the first rollout. `plan` assumes the usual noise."""

    prepared: PreparedRun
    goal: ShrinkGoal
    options: ShrinkOptions
    plan: ShrinkPlan
    held_out: tuple[Task, ...]
    kept: frozenset[str]

    @property
    def proof_tasks(self) -> Sequence[Task]:
        """The tasks that a proof can use."""
        return self.prepared.panel_a.tasks if self.goal.same_tasks else self.held_out


def prepare_shrink(
    job: ValuationJob, folder: RunFolder, goal: ShrinkGoal, options: ShrinkOptions, *, fresh: bool = False
) -> PreparedShrink:
    """Compile the skill, divide the tasks, plan. Runs nothing and writes nothing.

    Deletion alone is measured: a shorter skill deletes.
    """
    prepared, resumed = _divide_tasks(job, folder, goal, fresh=fresh)
    seen = frozenset[str]() if fresh else seen_tasks(folder, resumed=resumed)
    held_out = unseen_tasks(prepared.panel_b.tasks, seen)
    tasks = len(prepared.panel_a.tasks)
    kept = find_kept(prepared.compiled, options.keep)
    require_removable(prepared.compiled, kept)
    if options.ask_judge:
        require_judge(job)
    if options.editor is not None:
        require_editor(options.editor, job)
    plan = plan_shrink(goal, tasks, tasks if goal.same_tasks else len(held_out))
    return PreparedShrink(
        prepared=prepared,
        goal=goal,
        options=options,
        plan=plan,
        held_out=held_out,
        kept=kept,
    )


def _divide_tasks(job: ValuationJob, folder: RunFolder, goal: ShrinkGoal, *, fresh: bool) -> tuple[PreparedRun, str]:
    """The run with its panels, and the name of the folder's run where it goes on, else nothing.

    A shrink that goes on has the panels that it began with, though it may have used some tasks since to mend its set.
    """
    tasks = load_job_tasks(job)

    def divide(known: KnownPanels) -> PreparedRun:
        return prepare(replace(job, settings=_panel_settings(job, goal, tasks, known)), known)

    if fresh:
        return divide(NO_PANELS), ""
    current = folder.run_id
    known, resumed = known_panels(folder), known_panels(folder, resumed=current)
    prepared = divide(resumed)
    goes_on = run_id(make_manifest(prepared)) == current
    return (prepared, current) if goes_on else (divide(known) if known != resumed else prepared, "")


def _panel_settings(job: ValuationJob, goal: ShrinkGoal, tasks: Sequence[Task], known: KnownPanels) -> Settings:
    """The settings of the values: the panels that the goal asks for, unless the user named their sizes."""
    settings = replace(job.settings, method="auto", operators=(Operator.DELETE,), max_rollouts=goal.rollouts)
    if goal.same_tasks:
        return replace(settings, panel_a=None, panel_b=0)
    if settings.panel_a is None and settings.panel_b is None:
        size, unseen = panel_size(len(tasks), goal), sum(not known.seen(task) for task in tasks)
        return replace(settings, panel_a=size, panel_b=min(len(tasks) - size, unseen))
    return settings
