"""A shorter skill by the values of a run, and its proof on tasks that no value was estimated on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Literal

from skillsv.api.consent import require_consent, runs_only_own_code
from skillsv.api.inputs import Inputs
from skillsv.api.plan import forecast_lines
from skillsv.api.run import Progress, Run, listener_of
from skillsv.api.skill import Skill, compile  # noqa: A004 - the public name
from skillsv.api.sync import run_sync
from skillsv.confirmation import Gate
from skillsv.confirmation import Proof as PanelProof
from skillsv.confirmation.gate import DEFAULT_MAX_DROP
from skillsv.decide import Goal
from skillsv.errors import RecordsError, SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.confirmation_document import ConfirmationDocument
from skillsv.model.edit import ProofOutcome, PruneStep
from skillsv.model.events import Note
from skillsv.model.format import plural
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.skill import CompiledSkill
from skillsv.model.task import Task
from skillsv.model.value import DELETABLE, REMOVABLE, Action, Interval
from skillsv.pipeline import (
    ConfirmJob,
    PreparedConfirmation,
    RunOverrides,
    confirm_versions,
    keep_proof,
    prepare_confirmation,
    proof_dict,
    publish,
)
from skillsv.pipeline import prune as prune_run
from skillsv.pipeline.edit import PrunedSkill, original_path
from skillsv.pipeline.job import PYTHON
from skillsv.pipeline.proof_text import proof_lines, require_gate
from skillsv.rollout import Stop
from skillsv.settings import settings_from, share_of_points


@dataclass(frozen=True, kw_only=True, eq=False)
class ShorterSkill:
    """A shorter skill: its files, what was removed, and the loss that the values predict. `prune` makes one.

    `predicted_loss` is a share of 1, by the values that chose the units; only `confirm` proves it.
    """

    pruned: PrunedSkill = field(repr=False)
    source: Path | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The main Markdown file of the shorter skill."""
        return self.pruned.after.text

    @property
    def files(self) -> Mapping[str, bytes]:
        """All files of the shorter skill by relative path."""
        return self.pruned.after.contents

    @property
    def files_before(self) -> Mapping[str, bytes]:
        """All files of the skill as it was valued, by relative path."""
        return self.pruned.before.contents

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids of the removed units."""
        return self.pruned.removed

    @property
    def steps(self) -> tuple[PruneStep, ...]:
        """The removals one by one, each with what it leaves."""
        return self.pruned.steps

    @property
    def tokens_before(self) -> int:
        """The tokens of the skill as it was valued."""
        return self.pruned.tokens_before

    @property
    def tokens_after(self) -> int:
        """The tokens of the shorter skill."""
        return self.pruned.tokens_after

    @property
    def predicted_loss(self) -> float:
        """The loss of score that the values predict, a share of 1; negative for a gain."""
        return self.pruned.steps[-1].lost_value if self.pruned.steps else 0.0

    @property
    def patch(self) -> str:
        """The difference to the skill as it was valued, as `git apply` takes it."""
        from skillsv.report.edits import patch_lines

        return "".join(patch_lines(self.files_before, self.files))

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the shorter skill to a new folder. `force` replaces an earlier output of skillsv, if unchanged."""
        from skillsv.rendering.output import new_folder
        from skillsv.sandbox.workspace import write_tree

        with new_folder(Path(folder), skill=self.source, force=force) as new:
            write_tree(self.pruned.after, new)
        return Path(folder)

    def __repr__(self) -> str:
        units = plural(len(self.removed), "unit")
        return f"<ShorterSkill: {units} removed, {self.tokens_after:,} of {self.tokens_before:,} tokens left>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p><pre>{escape(self.patch)}</pre>"


@dataclass(frozen=True, kw_only=True, eq=False)
class Proof:
    """Old skill against new on held-out tasks. `confirm` makes one.

    `old`, `new` and `change` are scores with intervals, shares of 1. `at_worst` is the lowest change that is not ruled
    out. `met` says whether it is shown that no more than `max_drop` is lost.
    """

    result: PanelProof = field(repr=False)
    gate: Gate

    @property
    def tasks(self) -> int:
        """The number of held-out tasks."""
        return self.result.confirmation.tasks

    @property
    def old(self) -> Interval:
        """The score of the skill as it was valued."""
        return self.result.confirmation.old

    @property
    def new(self) -> Interval:
        """The score of the new skill."""
        return self.result.confirmation.new

    @property
    def change(self) -> Interval:
        """New minus old."""
        return self.result.confirmation.delta

    @property
    def at_worst(self) -> float:
        """The lowest change that is not ruled out."""
        return self.result.at_worst

    @property
    def met(self) -> bool:
        """Whether it is shown that no more than the limit is lost."""
        return self.result.meets(self.gate)

    @property
    def outcome(self) -> ProofOutcome:
        """What is shown: `no worse`, `worse`, or `not shown`."""
        return self.result.confirmation.outcome

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the proof."""
        return self.result.notes

    def require(self) -> None:
        """Raise GateNotMet unless it is shown that no more than the limit is lost."""
        require_gate(self.result, self.gate)

    def to_dict(self) -> ConfirmationDocument:
        """The JSON `skillsv.confirmation/1`, with the gate."""
        gate = self.gate
        return {
            **proof_dict(self.result),
            "gate": {"max_drop": gate.max_drop, "level": gate.level, "met": self.met},
        }

    def lines(self) -> list[str]:
        """The proof in sentences."""
        return list(proof_lines(self.result))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self.lines())


def prune(
    run: Run,
    *,
    to_tokens: int | None = None,
    share: float | None = None,
    max_drop: float | None = None,
    only: Literal["harmful", "delete", "expendable", "idle"] | None = None,
) -> ShorterSkill:
    r"""A shorter skill by the values of a run. Writes nothing and costs nothing.

    >>> import skillsv as sv
    >>> run = sv.value("# Facts\n\n- one\n- two\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two"] * 10, max_rollouts=400)
    >>> sv.prune(run, max_drop=1).text
    '# Facts\n\n- one\n- two\n'

    Without a goal the units go whose verdict is delete, expendable, idle or harmful (`only` chooses; its `delete` means
    all of these but the harmful ones). A goal is one of `to_tokens`, `share` (of the tokens to remove) and `max_drop`
    (points that may be lost, by the values).
    """
    has_goal = any(goal is not None for goal in (to_tokens, share, max_drop))
    if only is not None and has_goal:
        raise SettingsError("'only' and a goal ask for two things at once.", hint="Give one of them.")
    drop = None if max_drop is None else share_of_points(max_drop, "max_drop", ends=True)
    goal = Goal(to_tokens=to_tokens, share=share, max_drop=drop) if has_goal else None
    actions = REMOVABLE if only is None else DELETABLE if only == "delete" else frozenset({Action(only)})
    return ShorterSkill(pruned=prune_run(run.stored, goal, actions), source=original_path(run.stored))


def confirm(
    run: Run,
    skill: ShorterSkill | Skill | str | os.PathLike[str] | None = None,
    *,
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    level: float = 95,
    curves: Sequence[str] = (),
    checkpoints: int = 10,
    replicates: int | None = None,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    max_rollouts: int | None = None,
    budget_usd: float | None = None,
    jobs: int | None = None,
    yes: bool = False,
    progress: Progress = False,
) -> Proof:
    r"""Compare the skill of a run with a new one on panel B, the tasks that no value has seen.

    >>> import skillsv as sv
    >>> run = sv.value("# Facts\n\n- one\n- two\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two"] * 30, max_rollouts=400)
    >>> proof = sv.confirm(run, sv.prune(run), max_drop=10, max_rollouts=400)
    >>> proof.met, proof.change.value
    (True, 0.0)

    `skill` is a shorter skill, another skill, or None for the run's own, pruned by its verdicts. `proof.met` says
    whether it is shown that no more than `max_drop` points are lost, at confidence `level` in percent. `curves` adds
    pruning curves of methods: skillsv, loo, judge, random, skillsv-pairs. `tasks`, `agent` and `verifier` replace those
    of the run; `tasks` may be new ones. A limit, or `yes`, agrees to the cost; the limit of the run was for the run. As
    for `value`, neither is needed where only functions of yours are called.
    """
    work = _Confirmation(
        run=run,
        skill=skill,
        inputs=replace_inputs(run.inputs, tasks=tasks, agent=agent, verifier=verifier),
        limits={"max_rollouts": max_rollouts, "budget_usd": budget_usd, "jobs": jobs},
        max_drop=share_of_points(max_drop, "max_drop"),
        level=level_as_share(level),
        curves=tuple(curves),
        checkpoints=checkpoints,
        replicates=replicates,
    )
    prepared = work.prepare(yes=yes)

    async def prove(stop: Stop) -> Proof:
        with listener_of(progress) as listener:
            _announce(prepared, listener)
            return await run_confirmation(prepared, listener, stop)

    return run_sync(prove)


async def aconfirm(
    run: Run,
    skill: ShorterSkill | Skill | str | os.PathLike[str] | None = None,
    *,
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    level: float = 95,
    max_rollouts: int | None = None,
    budget_usd: float | None = None,
    yes: bool = False,
    progress: Progress = False,
) -> Proof:
    r"""`confirm` for async callers: it runs in the caller's event loop.

    >>> import asyncio
    >>> import skillsv as sv
    >>> run = sv.value("# Facts\n\n- one\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one"] * 60, max_rollouts=400)
    >>> asyncio.run(sv.aconfirm(run, sv.prune(run), max_drop=10, max_rollouts=300)).met
    True
    """
    work = _Confirmation(
        run=run,
        skill=skill,
        inputs=run.inputs,
        limits={"max_rollouts": max_rollouts, "budget_usd": budget_usd},
        max_drop=share_of_points(max_drop, "max_drop"),
        level=level_as_share(level),
    )
    prepared = work.prepare(yes=yes)
    with listener_of(progress) as listener:
        _announce(prepared, listener)
        return await run_confirmation(prepared, listener, None)


async def run_confirmation(
    prepared: PreparedConfirmation, listener: Listener, stop: Stop | None, *, keep: bool = True
) -> Proof:
    """Run the rollouts of a confirmation, keep the proof in the run folder, and draw the run's page again with it.

    With `keep=False` the run folder keeps the proof that it has.
    """
    result = await confirm_versions(prepared, listener, stop)
    if keep:
        keep_proof(prepared, result)
        publish(prepared.reopened.folder, prepared.reopened.run)
    return Proof(result=result, gate=prepared.job.gate)


def _announce(prepared: PreparedConfirmation, listener: Listener) -> None:
    """Say what a confirmation will cost, before it begins."""
    for line in forecast_lines(prepared.forecast):
        listener(Note(message=line))


@dataclass(frozen=True, kw_only=True)
class _Confirmation:
    """The arguments of a confirmation."""

    run: Run
    skill: ShorterSkill | Skill | str | os.PathLike[str] | None
    inputs: Inputs
    limits: Mapping[str, int | float | None]
    max_drop: float
    level: float
    curves: tuple[str, ...] = ()
    checkpoints: int = 10
    replicates: int | None = None

    def prepare(self, *, yes: bool) -> PreparedConfirmation:
        """Everything that is known before the first rollout. Raises SettingsError where nobody agreed to the cost."""
        limits = {name: value for name, value in self.limits.items() if value is not None}
        settings_from(limits)
        job = ConfirmJob(
            run=self.run.folder,
            overrides=replace(self._overrides(), **limits),  # type: ignore[arg-type]
            skill=_new_version(self.skill),
            curves=self.curves,
            checkpoints=self.checkpoints,
            replicates=self.replicates,
            level=self.level,
            max_drop=self.max_drop,
        )
        prepared = prepare_confirmation(job)
        require_consent(
            forecast_lines(prepared.forecast)[0],
            agreed=yes or bool({"max_rollouts", "budget_usd"} & limits.keys()),
            own_code=runs_only_own_code(self.inputs, prepared.panel.tasks) and "judge" not in prepared.job.curves,
        )
        return prepared

    def _overrides(self) -> RunOverrides:
        """Where tasks and agent come from: the objects of the caller, or what the run recorded."""
        inputs, recorded = self.inputs, self.run.stored.manifest["about"]
        if not inputs.given_as_objects:
            agent = inputs.agent if isinstance(inputs.agent, str) else None
            same = agent == self.run.stored.manifest["agent"]["spec"]
            return RunOverrides(tasks=inputs.path, agent=None if same else agent)
        if recorded.get("kit") == PYTHON or (inputs.agent_spec and (inputs.tasks is not None or inputs.examples)):
            return RunOverrides(tasks=inputs.path, task_source=inputs.source())
        raise RecordsError(
            "the run was made with other tasks or another agent.", hint="Pass both tasks= and agent= to confirm()."
        )


def _new_version(
    skill: ShorterSkill | Skill | str | os.PathLike[str] | None,
) -> Rendering | CompiledSkill | None:
    if skill is None:
        return None
    return skill.pruned.after if isinstance(skill, ShorterSkill) else compile(skill).compiled


def replace_inputs(
    inputs: Inputs,
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None,
    agent: str | Agent | Callable[..., object] | None,
    verifier: str | Verifier | Callable[..., object] | None,
) -> Inputs:
    """The inputs with those that a later call passes again."""
    given = {"tasks": tasks, "agent": agent, "verifier": verifier}
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(inputs, **changes) if changes else inputs  # type: ignore[arg-type]


def level_as_share(level: float) -> float:
    """A level as a share: 95 and 0.95 are the same."""
    return level / 100 if level >= 1 else level
