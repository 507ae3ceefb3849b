"""Trigger evaluation: precision and recall of a skill's description, and the value of its sentences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillsv.api.consent import require_consent, runs_only_own_code
from skillsv.api.inputs import Inputs
from skillsv.api.plan import Plan, plan_job
from skillsv.api.run import Progress, Run, announce, listener_of, run_plan
from skillsv.api.skill import Skill, compile, render  # noqa: A004 - the public name
from skillsv.api.sync import run_sync
from skillsv.errors import SettingsError
from skillsv.estimate.trigger import Decision, estimate_precision, estimate_recall
from skillsv.model.coalition import Observation, Rendering
from skillsv.model.description import split_sentences
from skillsv.model.format import bounds, percent, plural, with_bounds
from skillsv.model.frontmatter import read_frontmatter
from skillsv.model.protocols import Agent, Listener
from skillsv.model.task import Task
from skillsv.model.trigger_document import TriggerDocument
from skillsv.model.value import Interval, UnitReport
from skillsv.pipeline.job import ValuationJob
from skillsv.pipeline.trigger import TriggerSubject, trigger_source
from skillsv.report.escape import escape_line
from skillsv.report.valuation_json import interval_dict
from skillsv.rollout import Stop
from skillsv.settings import load_settings

FIXED: Mapping[str, object] = {"method": "auto", "operators": "delete", "panel_b": "0"}
"""Settings of every trigger evaluation: each request counts, and a missing sentence is left out."""

NO_RULES = "R1,R2,R3,R4,R5,R7,R8,R9"
"""Rules that are switched off: every sentence may stand alone."""

MOST_NAMED = 12
"""Requests with a wrong decision that are named in text."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TriggerEvaluation:
    """How well a description selects requests. `trigger` makes one.

    `precision` and `recall` have the level's intervals; None where nothing was opened, or nothing should be. `run` is
    the valuation of the sentences.
    """

    run: Run
    skill: str
    asked: bool
    decisions: tuple[Decision, ...] = field(repr=False)

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.run.stored.settings.level

    @property
    def precision(self) -> Interval | None:
        """The share of requests that should open the skill among those that did."""
        return estimate_precision(self.decisions, self.level)

    @property
    def recall(self) -> Interval | None:
        """The share of requests that opened the skill among those that should."""
        return estimate_recall(self.decisions, self.level)

    @property
    def sentences(self) -> tuple[UnitReport, ...]:
        """The sentences of the description with their values, in order."""
        trigger = self.run.stored.compiled.trigger
        return tuple(unit for unit in self.run.valuation.units if unit.id != trigger)

    def to_dict(self) -> TriggerDocument:
        """The JSON `skillsv.trigger/1`."""
        precision, recall = self.precision, self.recall
        return {
            "schema": "skillsv.trigger/1",
            "skill": self.skill,
            "agent": self.run.stored.manifest["agent"]["spec"],
            "asked": self.asked,
            "level": self.level,
            "requests": len(self.decisions),
            "expected": sum(decision.should_trigger for decision in self.decisions),
            "precision": None if precision is None else interval_dict(precision),
            "recall": None if recall is None else interval_dict(recall),
            "decisions": [
                {"task": item.task, "should_trigger": item.should_trigger, "opened": item.opened}
                for item in self.decisions
            ],
            "sentences": [
                {
                    "id": unit.id,
                    "text": _sentence(unit),
                    "net": interval_dict(unit.net),
                    "verdict": unit.verdict.action.value,
                }
                for unit in self.sentences
            ],
            "rollouts": self.run.valuation.rollouts.spent,
            "provisional": not self.run.complete,
            "notes": list(self.run.notes),
        }

    def lines(self) -> list[str]:
        """The result in sentences."""
        return list(_lines(self))

    def __str__(self) -> str:
        return "\n".join(self.lines())


def trigger(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object],
    agent: str | Agent | Callable[..., object],
    ask: bool = False,
    among: Sequence[Skill | str | os.PathLike[str]] = (),
    version: str = "",
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    fresh: bool = False,
    **settings: object,
) -> TriggerEvaluation:
    r"""Does an agent open the skill for the requests that need it? What is each sentence of the description worth?

    >>> import skillsv as sv
    >>> def choose(skill, task):
    ...     fits = "chart" in task.input.split("<request>")[1] and "charts" in task.input
    ...     return "plot" if fits else "none"
    >>> skill = "---\nname: plot\ndescription: Draws charts. Be kind.\n---\n\nUse bars.\n"
    >>> tasks = [{"input": "A chart, please", "should_trigger": True}, {"input": "Hello", "should_trigger": False}]
    >>> found = sv.trigger(skill, tasks=tasks, agent=choose, ask=True)
    >>> found.precision.value, found.recall.value, [round(unit.net.value, 2) for unit in found.sentences]
    (1.0, 1.0, [0.5, 0.0])

    - `tasks` have `should_trigger`: true or false. Others are left out.
    - `agent` reports whether it opened the skill (`Outcome.opened`); with `ask` it is asked which of the listed skills
      it would open, by name and description alone, and `among` are the skills beside this one.
    - All other arguments are as for `value`.
    """
    inputs = Inputs(tasks=tasks, agent=agent, version=version)
    plan = plan_trigger(
        skill, inputs, settings, ask=ask, among=among, run_dir=None if run_dir is None else Path(run_dir), fresh=fresh
    )
    assert plan.prepared is not None
    own_code = runs_only_own_code(inputs, plan.prepared.panel_a.tasks)
    require_consent(plan.lines()[0], agreed=yes or plan.has_limit, own_code=own_code)

    async def work(stop: Stop) -> TriggerEvaluation:
        with listener_of(progress) as listener:
            announce(plan, listener)
            return await run_trigger(plan, listener, stop, ask=ask, fresh=fresh)

    return run_sync(work)


def plan_trigger(
    skill: Skill | str | os.PathLike[str],
    inputs: Inputs,
    given: Mapping[str, object],
    *,
    ask: bool,
    among: Sequence[Skill | str | os.PathLike[str]] = (),
    run_dir: Path | None = None,
    default_dir: Callable[[str], Path] | None = None,
    fresh: bool = False,
) -> Plan:
    """The plan of a trigger evaluation: a valuation of the sentences of the description."""
    if among and not ask:
        raise SettingsError("--among lists descriptions, which only --ask shows to the agent.", hint="Add --ask.")
    taken = [name for name in FIXED if name in given]
    if taken:
        raise SettingsError(f"a trigger evaluation has no setting '{taken[0]}'.", hint="Leave it out.")
    compiled = compile(skill)
    subject = TriggerSubject(
        rendering=render(compiled, keep="all"), others=tuple(map(_name_and_description, among)), ask=ask
    )
    notes: list[str] = []
    spec = inputs.agent_spec or ""
    chosen: dict[str, object] = {**given, **FIXED}
    if spec.startswith("model:") and not ask:
        chosen["deliver"] = "files"
        notes.append("The model sees name and description, and opens the skill with a tool (--deliver files).")
    document = compile(subject.document(), without=NO_RULES).compiled
    sentences = len(split_sentences(subject.description))
    if len(document.execution) != sentences:
        notes.append(
            f"The {sentences} sentences of the description were read as {plural(len(document.execution), 'unit')}."
        )
    job = ValuationJob(
        skill=compiled.path,
        tasks=inputs.path,
        agent=spec,
        settings=load_settings(compiled.path, chosen, note=notes.append),
        folder=Path.cwd(),
        task_source=trigger_source(inputs.source(), subject),
        compiled=replace(document, skill=replace(document.skill, name=compiled.name)),
    )
    plan = plan_job(job, inputs, run_dir=run_dir, default_dir=default_dir, fresh=fresh, notes=tuple(notes))
    plan.require_runnable()
    return plan


async def run_trigger(
    plan: Plan, listener: Listener, stop: Stop | None, *, ask: bool, fresh: bool = False
) -> TriggerEvaluation:
    """Run the plan to its end, or as far as its limits allow. A description that opens nothing is a result, too."""
    run = await run_plan(plan, listener, stop, fresh=fresh, keep_going=True)
    prepared, _ = plan.runnable_parts()
    full = [item for item in run.stored.observations if item.coalition == prepared.compiled.everything]
    decisions = (_decision(task, full) for task in prepared.panel_a.tasks)
    return TriggerEvaluation(
        run=run,
        skill=plan.skill.name,
        asked=ask,
        decisions=tuple(sorted(filter(None, decisions), key=lambda decision: decision.task)),
    )


def _decision(task: Task, full: Sequence[Observation]) -> Decision | None:
    """What the agent decided on a request with the whole description; None where nothing is known."""
    right = [item.score for item in full if item.task == task.id and item.score is not None]
    if not right or task.should_trigger is None:
        return None
    share = sum(right) / len(right)
    return Decision(
        task=task.id, should_trigger=task.should_trigger, opened=share if task.should_trigger else 1 - share
    )


def _name_and_description(skill: Skill | str | os.PathLike[str]) -> tuple[str, str]:
    rendering: Rendering = render(compile(skill), keep="all")
    head = read_frontmatter(rendering.text.splitlines())
    return head.name or rendering.skill_name, " ".join((head.description or "").split())


def _lines(found: TriggerEvaluation) -> Iterator[str]:
    decisions = found.decisions
    expected = sum(decision.should_trigger for decision in decisions)
    how = "was asked which skill it would open" if found.asked else "could open the skill"
    yield f"{found.skill}: the agent {how} for {plural(len(decisions), 'request')}, {expected} of which need it."
    for name, share, meaning in (
        ("Precision", found.precision, "of the requests that opened it, so many need it"),
        ("Recall", found.recall, "of the requests that need it, so many opened it"),
    ):
        value = "undefined, nothing was opened" if share is None else f"{percent(share.value)} {_bounds(share)} %"
        yield f"{name}: {value} ({meaning})."
    for label, wanted in (("Opened without need", False), ("Needed and not opened", True)):
        names = [item.task for item in decisions if item.should_trigger is wanted and not item.right]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            yield f"{label}: {', '.join(map(escape_line, names[:MOST_NAMED]))}{more}."
    yield "What each sentence of the description adds to right decisions, in points:"
    for unit in found.sentences:
        yield f"  {with_bounds(unit.net)}  {unit.verdict.action.value}  {escape_line(_sentence(unit))}"
    for note in found.run.notes:
        yield f"Note: {note}"


def _bounds(share: Interval) -> str:
    return bounds(share, signed=False)


def _sentence(unit: UnitReport) -> str:
    return unit.text.strip().removeprefix("- ").strip("“”")
