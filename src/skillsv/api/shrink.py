"""A shorter skill with its proof, from one budget of rollouts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from skillsv.api.consent import require_consent, runs_only_own_code
from skillsv.api.inputs import Inputs
from skillsv.api.plan import TEMPORARY, TemporaryFolder
from skillsv.api.run import Progress, Run, listener_of
from skillsv.api.shorten import level_as_share
from skillsv.api.skill import Skill, compile, compiler_settings  # noqa: A004 - the public name
from skillsv.api.sync import run_sync
from skillsv.api.valuation import Valuation
from skillsv.confirmation import Gate
from skillsv.confirmation.gate import DEFAULT_MAX_DROP
from skillsv.errors import GateNotMet, SettingsError
from skillsv.model.coalition import Operator
from skillsv.model.events import Note
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.shrink_document import ShrinkDocument
from skillsv.model.task import Task
from skillsv.pipeline.cost import measured_cost, require_measurable_budget
from skillsv.pipeline.job import ValuationJob
from skillsv.pipeline.shrink import (
    PreparedShrink,
    ShrinkOptions,
    ShrinkResult,
    prepare_shrink,
    run_shrink,
)
from skillsv.pipeline.shrink_plan import ShrinkGoal
from skillsv.rollout import RunFolder, Stop
from skillsv.sandbox.workspace import folder_name
from skillsv.settings import load_settings, share_of_points, small_settings

DEFAULT_ROLLOUTS = 800
"""The budget of a shrink where no limit is given."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShrunkSkill:
    r"""A shorter skill and what was proved of it. `shrink` makes one.

    >>> import skillsv as sv
    >>> short = sv.shrink("# Facts\n\n- one\n- two\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two"] * 60, max_rollouts=400)
    >>> short.met, short.tokens_after < short.tokens_before
    (True, True)

    `outcome` is `no worse`, `not shown`, `worse` or `nothing to remove`. Only a skill that is shown to be no worse has
    other files than before; `removed` is empty else.
    """

    document: ShrinkDocument = field(repr=False)
    run: Run = field(repr=False)
    result: ShrinkResult = field(repr=False)

    @property
    def outcome(self) -> str:
        """What is shown of the shorter skill."""
        return self.document["outcome"]

    @property
    def met(self) -> bool:
        """Whether the shorter skill is shown to be no worse."""
        return self.result.version is not None

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids of the removed units."""
        return tuple(self.document["removed"])

    @property
    def tokens_before(self) -> int:
        """The tokens of the skill."""
        return self.document["tokens_before"]

    @property
    def tokens_after(self) -> int:
        """The tokens of the shorter skill."""
        return self.document["tokens_after"]

    @property
    def files_before(self) -> Mapping[str, bytes]:
        """All files of the skill by relative path."""
        stored = self.run.stored
        return stored.renderer.render(stored.compiled.everything, Operator.DELETE).contents

    @property
    def files(self) -> Mapping[str, bytes]:
        """All files of the shorter skill by relative path; those of the skill where nothing was shown."""
        version = self.result.version
        return self.files_before if version is None else version.after.contents

    @property
    def text(self) -> str:
        """The main Markdown file of the shorter skill; empty where nothing of the skill is left."""
        return self.files.get(self.run.skill.compiled.skill.main, b"").decode("utf-8", errors="replace")

    @property
    def patch(self) -> str:
        """The difference to the skill, as `git apply` takes it."""
        from skillsv.report.edits import patch_lines

        return "".join(patch_lines(self.files_before, self.files))

    @property
    def markdown(self) -> str:
        """The result as Markdown for a pull request."""
        from skillsv.report.shrink_text import shrink_markdown

        return shrink_markdown(self.document)

    def lines(self) -> list[str]:
        """The result in sentences."""
        from skillsv.report.shrink_text import shrink_lines

        return shrink_lines(self.document)

    def require(self) -> None:
        """Raise GateNotMet unless a shorter skill is shown to be no worse."""
        if not self.met:
            raise GateNotMet(self.lines()[0], hint="More tasks, more rollouts or a larger max_drop may show it.")

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the shorter skill to a new folder. Raises GateNotMet where nothing was shown."""
        from skillsv.rendering.output import new_folder
        from skillsv.sandbox.workspace import write_tree

        self.require()
        assert self.result.version is not None
        with new_folder(Path(folder), skill=self.run.skill.path, force=force) as new:
            write_tree(self.result.version.after, new)
        return Path(folder)

    def to_dict(self) -> ShrinkDocument:
        """The JSON `skillsv.shrink/1`."""
        return self.document

    def __repr__(self) -> str:
        return f"<ShrunkSkill: {self.outcome}, {self.tokens_after:,} of {self.tokens_before:,} tokens left>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self.lines())


@dataclass(frozen=True, kw_only=True, eq=False)
class ShrinkPlan:
    """A shrink that is prepared: what it may spend, and what that can prove. `lines` says it in words."""

    shrink: PreparedShrink
    folder: RunFolder
    skill: Skill
    inputs: Inputs
    notes: tuple[str, ...] = ()
    temporary: TemporaryFolder | None = None

    @property
    def has_limit(self) -> bool:
        """Whether the user gave a limit."""
        return self.shrink.prepared.job.settings.has_limit

    def lines(self) -> list[str]:
        """What can be proven with the budget."""
        shrink = self.shrink
        lines = [f"Forecast: at most {shrink.goal.rollouts:,} rollouts.", *shrink.plan.lines()]
        if not shrink.plan.worthwhile:
            lines.append(f"That is less than even odds. {shrink.plan.advice()}")
        return lines


def shrink(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    evaluate: Callable[..., object] | None = None,
    examples: Iterable[object] | None = None,
    version: str = "",
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    level: float = 95,
    same_tasks: bool = False,
    keep: Sequence[str] | str = (),
    ask_judge: bool = False,
    refine: str | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    fresh: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> ShrunkSkill:
    r"""Make a skill shorter, and prove that it is no worse: one budget of rollouts for values and proof together.

    >>> import skillsv as sv
    >>> short = sv.shrink("# Facts\n\n- one\n- two\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two"] * 60, max_rollouts=400)
    >>> short.outcome, short.text
    ('no worse', '# Facts\n\n- one\n- two\n')

    The arguments about skill, tasks, agent, consent and settings are those of `value`. `max_drop` is the loss that the
    proof must rule out, in points, at confidence `level` in percent. `same_tasks` proves it on the tasks that chose the
    units: the claim is then about these tasks alone. `keep` names units (by id or glob) that stay. `ask_judge` asks the
    agent of `judge` about each unit first; how much that counts is learnt from the scores. `refine` names an editor
    that rewrites what is left. Raises NoDifference where the skill makes no difference to the agent, and GateNotMet
    where the noise leaves the proof less than even odds, unless `keep_going`.
    """
    inputs = Inputs(tasks=tasks, agent=agent, verifier=verifier, evaluate=evaluate, examples=examples, version=version)
    plan = make_shrink_plan(
        skill,
        inputs,
        settings,
        goal=ProofArguments(max_drop=max_drop, level=level, same_tasks=same_tasks),
        options=shrink_options(keep, ask_judge=ask_judge, editor=refine, keep_going=keep_going),
        run_dir=None if run_dir is None else Path(run_dir),
        fresh=fresh,
    )
    _require_consent(plan, yes=yes)

    async def work(stop: Stop) -> ShrunkSkill:
        with listener_of(progress) as listener:
            announce(plan, listener)
            return await run_shrink_plan(plan, listener, stop, fresh=fresh)

    return run_sync(work)


async def ashrink(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    same_tasks: bool = False,
    keep: Sequence[str] | str = (),
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> ShrunkSkill:
    r"""`shrink` for async callers: it runs in the caller's event loop.

    >>> import asyncio
    >>> import skillsv as sv
    >>> async def answer(skill, task):
    ...     return "yes" if skill and task.input in skill.text else "no"
    >>> tasks = [{"input": word, "target": "yes"} for word in ("red", "green") * 60]
    >>> short = asyncio.run(sv.ashrink("# Colours\n\n- red\n- green\n- grey\n", tasks=tasks, agent=answer,
    ...     max_rollouts=400))
    >>> short.text
    '# Colours\n\n- red\n- green\n'
    """
    plan = make_shrink_plan(
        skill,
        Inputs(tasks=tasks, agent=agent, verifier=verifier),
        settings,
        goal=ProofArguments(max_drop=max_drop, same_tasks=same_tasks),
        options=shrink_options(keep, keep_going=keep_going),
        run_dir=None if run_dir is None else Path(run_dir),
    )
    _require_consent(plan, yes=yes)
    with listener_of(progress) as listener:
        announce(plan, listener)
        return await run_shrink_plan(plan, listener, None)


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
    keep: Sequence[str] | str, *, ask_judge: bool = False, editor: str | None = None, keep_going: bool = False
) -> ShrinkOptions:
    """The options of a shrink; `keep` is a name or several."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    return ShrinkOptions(keep=names, ask_judge=ask_judge, editor=editor, keep_going=keep_going)


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
) -> ShrinkPlan:
    """The plan of a shrink. Runs nothing and writes nothing."""
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
    )
    temporary = None
    if run_dir is None and default_dir is not None:
        run_dir = default_dir(compiled.name)
    if run_dir is None:
        temporary = TemporaryFolder()
        run_dir = temporary.path / folder_name(compiled.name)
        notes.append(TEMPORARY)
    folder = RunFolder(run_dir)
    folder.check_place(job.skill, compiled.name)
    prepared = prepare_shrink(job, folder, goal.goal(settings.max_rollouts or DEFAULT_ROLLOUTS), options, fresh=fresh)
    require_measurable_budget(job, measured_cost(folder, prepared.prepared.agent.fingerprint))
    return ShrinkPlan(
        shrink=_with_own_limit(prepared, settings.max_rollouts),
        folder=folder,
        skill=compiled,
        inputs=inputs,
        notes=tuple(notes),
        temporary=temporary,
    )


def _with_own_limit(prepared: PreparedShrink, limit: int | None) -> PreparedShrink:
    """The shrink with the limit that the user gave: the default budget is no agreement to the cost."""
    job = prepared.prepared.job
    job = replace(job, settings=replace(job.settings, max_rollouts=limit))
    return replace(prepared, prepared=replace(prepared.prepared, job=job))


def _require_consent(plan: ShrinkPlan, *, yes: bool) -> None:
    prepared = plan.shrink.prepared
    tasks = (*prepared.panel_a.tasks, *plan.shrink.held_out)
    options = plan.shrink.options
    own_code = runs_only_own_code(plan.inputs, tasks) and not options.ask_judge and options.editor is None
    require_consent(plan.lines()[0], agreed=yes or plan.has_limit, own_code=own_code)


async def run_shrink_plan(
    plan: ShrinkPlan, listener: Listener, stop: Stop | None, *, fresh: bool = False
) -> ShrunkSkill:
    """Run a shrink to its end."""
    result = await run_shrink(plan.shrink, plan.folder, listener, stop, fresh=fresh)
    run = Run(
        valuation=Valuation.of(result.run.valuation),
        folder=plan.folder.path,
        skill=plan.skill,
        inputs=plan.inputs,
        stored=result.run,
        temporary=plan.temporary,
    )
    return ShrunkSkill(document=result.document, run=run, result=result)


def announce(plan: ShrinkPlan, listener: Listener) -> None:
    """Say what the shrink will cost, and what that can prove, before it begins."""
    for line in (*plan.notes, *plan.lines()):
        listener(Note(message=line))
