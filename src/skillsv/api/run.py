"""Runs: value a skill, or read a run from its folder; the result with its report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from skillsv.api.consent import require_consent, runs_only_own_code
from skillsv.api.inputs import Inputs
from skillsv.api.plan import Plan, make_plan
from skillsv.api.run_place import TemporaryFolder
from skillsv.api.skill import Skill
from skillsv.api.sync import run_sync
from skillsv.api.valuation import Valuation
from skillsv.errors import OutputError, SettingsError, SkillSVError
from skillsv.model.edit import Confirmation
from skillsv.model.events import Event, Note
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.task import Task
from skillsv.pipeline import build_run, publish, read_manifest, recorded_confirmation, render_page, run_rollouts
from skillsv.pipeline import load_run as read_run
from skillsv.pipeline.edit import original_path
from skillsv.pipeline.progress import progress as show_progress
from skillsv.pipeline.publish import TRANSCRIPTS
from skillsv.pipeline.run import Run as StoredRun
from skillsv.pipeline.session import SharedSession
from skillsv.rollout import RunFolder, Stop
from skillsv.rollout.earlier_runs import find_run
from skillsv.settings import in_shares

Progress = bool | Callable[[Event], None]
"""True: show progress on stderr. A function receives every event of the run instead."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    r"""A run, finished or not: the valuation, and the folder with everything that was paid for.

    >>> import skillsv as sv
    >>> def evaluate(text, example):
    ...     return 1.0 if example in text else 0.0
    >>> run = sv.value("# Facts\n\n- The sky is blue.\n- Grass is green.\n", evaluate=evaluate,
    ...     examples=["sky is blue", "Grass is green", "Roses are red", "water is wet"], max_rollouts=100)
    >>> run.complete, run.valuation.rollouts.failed
    (True, 0)

    `error` is what ended the run early (a limit, Ctrl-C, an agent that stopped answering); the valuation is then
    provisional. `sv.value` with the same arguments and the same `run_dir` continues such a run and pays for nothing
    twice.
    """

    valuation: Valuation
    folder: Path
    skill: Skill
    error: SkillSVError | None = None
    inputs: Inputs = field(default_factory=Inputs, repr=False)
    stored: StoredRun = field(repr=False)
    temporary: TemporaryFolder | None = field(default=None, repr=False)

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.error is None and not self.valuation.provisional

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the run."""
        return self.valuation.notes

    @property
    def last_proof(self) -> Confirmation | None:
        """The last proof of a shorter skill on held-out tasks, if there is one."""
        return recorded_confirmation(RunFolder(self.folder))

    def publish(self) -> Path:
        """Write valuation.json and report.html into the run folder, and return the path of the page."""
        return publish(RunFolder(self.folder), self.stored)

    def page(self, *, transcripts: int = TRANSCRIPTS) -> str:
        """The report page as HTML text, with about so many characters of transcripts."""
        return render_page(RunFolder(self.folder), self.stored, transcripts=transcripts)

    def report(self, path: str | os.PathLike[str] | None = None, *, transcripts: int = TRANSCRIPTS) -> Path:
        """Write the report page, to `path` or into the run folder, and return its path.

        `transcripts` limits the characters of transcripts in the page.
        """
        page = self.page(transcripts=transcripts)
        if path is None:
            place = RunFolder(self.folder)
            return place.write(place.report.name, page.encode("utf-8", errors="replace"))
        target, skill = Path(path), self.skill.path
        if skill is not None and target.resolve().is_relative_to(skill.resolve()):
            raise OutputError("This is inside the skill.", where=str(target), hint="Choose another file.")
        target.write_text(page, encoding="utf-8", errors="replace", newline="\n")
        return target

    def __repr__(self) -> str:
        state = "complete" if self.complete else "not finished"
        return f"<Run of {self.skill.name}: {state}, {self.valuation.rollouts.spent:,} rollouts, in {self.folder}>"

    def _repr_html_(self) -> str:
        return self.valuation._repr_html_()


def value(
    skill: Plan | Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    evaluate: Callable[..., object] | None = None,
    examples: Iterable[object] | None = None,
    version: str = "",
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    fresh: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> Run:
    r"""Value every unit of a skill with tasks and an agent. It spends at most what a limit allows.

    >>> import skillsv as sv
    >>> def answer(skill, task):
    ...     return "yes" if skill and task.input in skill.text else "no"
    >>> run = sv.value("# Colours\n\n- red\n- green\n", agent=answer, max_rollouts=100, panel_b=0,
    ...     tasks=[{"input": colour, "target": "yes"} for colour in ("red", "green", "blue", "grey")])
    >>> round(run.valuation["colours/bullet-1"].net.value, 3)
    0.25

    - `skill`: a folder, a Markdown file, a text, a compiled skill, or a plan (then no other argument about it).
    - `tasks`: a path, or a list of tasks, of dicts with the keys of a JSONL line, or of objects with `input` and
      `score(answer)`.
    - `agent`: a text as after `--agent`, a function `(skill, task) -> str`, plain or async, or an object with
      `fingerprint` and `run`. `skill` is None for the bare agent.
    - `verifier`: a name, or a function `(task, answer) -> float`.
    - `evaluate` with `examples` in place of these three: a function `(text, example) -> float` from 0 to 1.
    - `version`: a text that changes whenever something changes that the source of a function does not show.
    - `run_dir`: the folder of the run. The same call again continues there. Without it the run is temporary.
    - `yes`: agree to the forecast. A limit such as `max_rollouts` or `budget_usd` counts as agreement. A run that calls
      only functions of yours needs neither; an agent that a text names, and a judge or program that grades, do.
    - `fresh`, `keep_going` and `settings`: as the flags of `skillsv value`; amounts of score in points.

    Raises the errors of `skillsv.errors`. A run that a limit ends is returned, with `error` set, if it has a result.
    """
    inputs = Inputs(tasks=tasks, agent=agent, verifier=verifier, evaluate=evaluate, examples=examples, version=version)
    plan = _plan_of(skill, inputs, settings, run_dir, fresh=fresh)
    _require_consent(plan, yes=yes)

    async def work(stop: Stop) -> Run:
        with listener_of(progress) as listener:
            announce(plan, listener)
            return await run_plan(plan, listener, stop, fresh=fresh, keep_going=keep_going)

    return run_sync(work)


async def avalue(
    skill: Plan | Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    evaluate: Callable[..., object] | None = None,
    examples: Iterable[object] | None = None,
    version: str = "",
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    fresh: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> Run:
    r"""`value` for async callers: it runs in the caller's event loop, and cancelling it keeps every finished rollout.

    >>> import asyncio
    >>> import skillsv as sv
    >>> async def answer(skill, task):
    ...     return "yes" if skill and task.input in skill.text else "no"
    >>> run = asyncio.run(sv.avalue("# Colours\n\n- red\n- green\n", agent=answer, max_rollouts=100,
    ...     tasks=[{"input": colour, "target": "yes"} for colour in ("red", "green", "blue", "grey")]))
    >>> run.complete
    True
    """
    inputs = Inputs(tasks=tasks, agent=agent, verifier=verifier, evaluate=evaluate, examples=examples, version=version)
    plan = _plan_of(skill, inputs, settings, run_dir, fresh=fresh)
    _require_consent(plan, yes=yes)
    with listener_of(progress) as listener:
        announce(plan, listener)
        return await run_plan(plan, listener, None, fresh=fresh, keep_going=keep_going)


async def run_plan(
    plan: Plan,
    listener: Listener,
    stop: Stop | None,
    *,
    fresh: bool = False,
    keep_going: bool = False,
    shared: SharedSession | None = None,
) -> Run:
    """Run a plan to its end, or as far as its limits allow; write valuation and page into the run folder.

    `shared` is what runs of other agents at the same time share with this one.
    """
    prepared, folder = plan.runnable_parts()
    result = await run_rollouts(prepared, folder, listener, stop, fresh=fresh, keep_going=keep_going, shared=shared)
    if result.error is not None and result.nothing:
        raise result.error
    stored = build_run(prepared.renderer, prepared.job.settings, read_manifest(folder), result)
    publish(folder, stored, tasks=prepared.panel_a.tasks)
    return Run(
        valuation=Valuation.of(stored.valuation),
        folder=folder.path,
        skill=plan.skill,
        error=result.error,
        inputs=plan.inputs,
        stored=stored,
        temporary=plan.temporary,
    )


def load_run(
    path: str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    evaluate: Callable[..., object] | None = None,
    examples: Iterable[object] | None = None,
    version: str = "",
    level: float | None = None,
    resolution: float | None = None,
    run: str | None = None,
) -> Run:
    r"""Read a run folder, finished or not, and estimate from its records. Costs nothing.

    >>> import tempfile, skillsv as sv
    >>> folder = tempfile.mkdtemp() + "/run"
    >>> _ = sv.value("# Facts\n\n- one\n- two\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two", "three", "four"], max_rollouts=100, panel_b=0, run_dir=folder)
    >>> sv.load_run(folder).valuation["facts/bullet-2"].net.value
    0.25

    `level` and `resolution` (in points) estimate again with other settings. Objects that the run was made with (a
    function as its agent, a list of tasks) are passed again where `confirm` shall run more rollouts. `run` is the name
    of an earlier run in this folder, as `skillsv status --earlier` lists it.
    """
    place = Path(path) if run is None else find_run(Path(path), run)
    inputs = Inputs(tasks=tasks, agent=agent, verifier=verifier, evaluate=evaluate, examples=examples, version=version)
    given = {"level": level, "resolution": resolution}
    changes = in_shares({name: value for name, value in given.items() if value is not None})
    stored = read_run(place, changes)
    return Run(
        valuation=Valuation.of(stored.valuation),
        folder=place,
        skill=Skill(stored.compiled, original_path(stored)),
        inputs=inputs,
        stored=stored,
    )


def _plan_of(
    skill: Plan | Skill | str | os.PathLike[str],
    inputs: Inputs,
    settings: dict[str, object],
    run_dir: str | os.PathLike[str] | None,
    *,
    fresh: bool,
) -> Plan:
    """The plan that was given, or the one of these arguments. Raises SettingsError where it cannot be run."""
    if isinstance(skill, Plan):
        if settings or inputs != Inputs() or run_dir is not None:
            raise SettingsError("a plan holds its own tasks, agent and settings.", hint="Pass them to plan().")
        plan = skill
    else:
        plan = make_plan(skill, inputs, settings, run_dir=None if run_dir is None else Path(run_dir), fresh=fresh)
    plan.require_runnable()
    return plan


def _require_consent(plan: Plan, *, yes: bool) -> None:
    assert plan.prepared is not None
    own_code = runs_only_own_code(plan.inputs, plan.prepared.panel_a.tasks)
    require_consent(plan.lines()[0], agreed=yes or plan.has_limit, own_code=own_code)


@contextmanager
def listener_of(progress: Progress) -> Iterator[Listener]:
    """The listener that a caller's argument `progress` asks for."""
    if callable(progress):
        yield progress
        return
    with show_progress(sys.stderr, quiet=not progress) as listener:
        yield listener


def announce(plan: Plan, listener: Listener) -> None:
    """Say what the run will cost, and what its settings mean, before it begins."""
    for line in (*plan.notes, *plan.lines()):
        listener(Note(message=line))
