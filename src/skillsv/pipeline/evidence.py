"""The evidence behind the values, for the report: tasks that a unit decided, with the answers from the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from skillsv.errors import SkillSVError
from skillsv.model.coalition import Coalition, Observation, Operator
from skillsv.model.fingerprint import agrees
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.model.task import Task
from skillsv.pipeline.edit import partners_of
from skillsv.pipeline.job import ValuationJob, find_task_source, load_job_tasks
from skillsv.pipeline.run import Run, recorded_settings
from skillsv.report.escape import clip
from skillsv.report.evidence import DecidingTask, Evidence, RelatedPair, UnitEvidence
from skillsv.report.marginals import marginals_by_unit
from skillsv.rollout import Ledger, RunFolder
from skillsv.sandbox.redaction import redact

EXAMPLES = 3
"""Tasks that a unit's details show, where the page has room for them."""

LONGEST_TEXT = 600
"""Characters of an input, an expected answer or an answer that the page shows."""

SHORTEST_TEXT = 80
"""Characters of such a text that the page shows even where many units share its room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One task scored with two partial skills that differ by `unit`: `coalition` is the smaller one.

    `trees` are the renderings without and with the unit; empty where they were not recorded.
    """

    unit: str
    task: str
    coalition: Coalition
    replicate: int
    before: float
    after: float
    trees: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredEvidence:
    """The evidence of a run, and the rollouts behind its examples."""

    evidence: Evidence
    rollouts: tuple[Rollout, ...]


def gather_evidence(folder: RunFolder, run: Run, tasks: Sequence[Task] | None, limit: int) -> GatheredEvidence:
    """The evidence of a run with texts of about `limit` characters; with a limit of 0 it has no texts.

    `tasks` are those of panel A; None reads them from where the run found them. Tasks that changed since are left out.
    """
    known = _tasks_of(run, tasks) if limit else {}
    units = run.compiled.execution
    comparisons: dict[str, list[Comparison]] = {}
    for comparison in (*_in_chains(run), *_in_observations(run.observations)):
        comparisons.setdefault(comparison.unit, []).append(comparison)
    examples = min(EXAMPLES, max(1, limit // (4 * SHORTEST_TEXT * max(1, len(units)))))
    room = limit // max(1, 4 * examples * len(units))
    reader = _AnswerReader(folder, run, known, characters=max(SHORTEST_TEXT, min(LONGEST_TEXT, room)))
    harmful = {unit.id for unit in run.valuation.units if unit.value.net_or_zero.value < 0}
    strata = {name: task.stratum for name, task in known.items()}
    chosen = {
        unit: _choose(found, examples, strata, losses_first=unit in harmful) for unit, found in comparisons.items()
    }
    shown = reader.read(chosen) if limit else {}
    by_unit = {unit: _summary(found, shown.get(unit, ())) for unit, found in comparisons.items()}
    noisy = any(item.agent_is_noisy for item in run.observations)
    evidence = Evidence(by_unit=by_unit, strata=strata, pairs=_pairs(run), noisy=noisy)
    return GatheredEvidence(evidence=evidence, rollouts=tuple(reader.rollouts))


def _summary(comparisons: Sequence[Comparison], examples: Sequence[DecidingTask]) -> UnitEvidence:
    raised = dict.fromkeys(item.task for item in comparisons if item.after > item.before)
    lowered = dict.fromkeys(item.task for item in comparisons if item.after < item.before)
    return UnitEvidence(
        raised=tuple(raised), lowered=tuple(lowered), comparisons=len(comparisons), examples=tuple(examples)
    )


def _in_chains(run: Run) -> Iterator[Comparison]:
    orders = {record.plan.index: record.plan for record in run.records}
    for unit, marginals in marginals_by_unit(run.records).items():
        for item in marginals:
            if item.operator is not Operator.DELETE or item.truncated:
                continue
            plan = orders[item.chain]
            coalition = frozenset(plan.order[: item.position])
            for task, before, after in zip(item.tasks, item.before, item.after, strict=True):
                if before is not None and after is not None:
                    yield Comparison(
                        unit=unit, task=task, coalition=coalition, replicate=plan.replicate, before=before,
                        after=after, trees=item.trees,
                    )  # fmt: skip


def _in_observations(observations: Iterable[Observation]) -> Iterator[Comparison]:
    """Pairs of coalitions of one task, scored in one replicate, that differ by one unit."""
    known: dict[tuple[str, int], dict[Coalition, float]] = {}
    for item in observations:
        if item.operator is Operator.DELETE and item.score is not None and item.coalition:
            known.setdefault((item.task, item.replicate), {})[item.coalition] = item.score
    for (task, replicate), scores in known.items():
        by_size: dict[int, list[Coalition]] = {}
        for coalition in scores:
            by_size.setdefault(len(coalition), []).append(coalition)
        for small, large in pairwise(sorted(by_size)):
            if large != small + 1:
                continue
            for after in by_size[large]:
                for before in by_size[small]:
                    if before < after:
                        (unit,) = after - before
                        yield Comparison(
                            unit=unit, task=task, coalition=before, replicate=replicate, before=scores[before],
                            after=scores[after],
                        )  # fmt: skip


def _choose(
    comparisons: Sequence[Comparison], most: int, strata: Mapping[str, str], *, losses_first: bool
) -> list[Comparison]:
    """Comparisons that changed the score: in the direction of the value, near the whole skill, of several strata."""
    sign = -1.0 if losses_first else 1.0
    changed = [item for item in comparisons if item.after != item.before]
    changed.sort(key=lambda item: (sign * (item.before - item.after) > 0, -len(item.coalition), item.task))
    chosen: list[Comparison] = []
    for again in (False, True):
        for item in changed:
            seen = {strata.get(other.task, other.task) for other in chosen}
            new = item.task not in {other.task for other in chosen}
            if len(chosen) < most and new and (again or strata.get(item.task, item.task) not in seen):
                chosen.append(item)
    return chosen


def _pairs(run: Run) -> tuple[RelatedPair, ...]:
    """Units that the records show to depend on each other, each with its closest partner only."""
    partners = partners_of(run)
    return tuple(
        RelatedPair(first=unit, second=partner, redundant=beside < alone)
        for unit in run.compiled.execution
        if unit in partners
        for partner, beside, alone in [partners[unit]]
        if run.compiled.execution.index(unit) < run.compiled.execution.index(partner)
    )


def _tasks_of(run: Run, tasks: Sequence[Task] | None) -> dict[str, Task]:
    """The tasks of panel A by id, unchanged since the run; empty where they cannot be read any more."""
    digests: Mapping[str, str] = run.manifest["panel_a"]
    if tasks is None:
        about = run.manifest["about"]
        if not about.get("tasks"):
            return {}
        try:
            job = ValuationJob(
                skill=None,
                tasks=Path(about["tasks"]),
                agent=run.manifest["agent"]["spec"],
                settings=recorded_settings(run),
                folder=Path(about["folder"]),
                task_source=find_task_source(about.get("kit", ""), about.get("variant", "")),
                compiled=run.compiled,
            )
            tasks = load_job_tasks(job)
        except (SkillSVError, OSError):
            return {}  # the report is written without the texts of the tasks
    return {task.id: task for task in tasks if task.id in digests and agrees(task.digest, digests[task.id])}


class _AnswerReader:
    """Reads the answers of chosen comparisons from the ledger; each text is redacted and cut."""

    def __init__(self, folder: RunFolder, run: Run, tasks: Mapping[str, Task], *, characters: int) -> None:
        self._folder, self._run, self._tasks, self._characters = folder, run, tasks, characters
        self.rollouts: list[Rollout] = []

    def read(self, chosen: Mapping[str, Sequence[Comparison]]) -> dict[str, list[DecidingTask]]:
        if not self._folder.ledger.exists():
            return {unit: [self._example(item, None) for item in items] for unit, items in chosen.items()}
        with Ledger.open(self._folder.ledger, read_only=True) as ledger:
            return {unit: [self._example(item, ledger) for item in items] for unit, items in chosen.items()}

    def _example(self, item: Comparison, ledger: Ledger | None) -> DecidingTask:
        trees = item.trees if all(item.trees) else self._trees(item)
        without, with_unit = (self._answer(tree, item, ledger) for tree in trees)
        task = self._tasks.get(item.task)
        return DecidingTask(
            task=item.task,
            stratum=task.stratum if task else "",
            input=self._text(task.input) if task else None,
            expected=self._text(_target(task)) if task and task.target is not None else None,
            answer_with=with_unit,
            answer_without=without,
            score_with=item.after,
            score_without=item.before,
            others=len(item.coalition - {self._run.compiled.trigger}),
            most=len(self._run.compiled.execution) - 1,
            trees=trees,
        )

    def _trees(self, item: Comparison) -> tuple[str, str]:
        render = self._run.renderer.render
        smaller, larger = item.coalition, item.coalition | {item.unit}
        # The rollouts were checked when they ran: here the digests are names to look up.
        without, with_unit = (render(units, Operator.DELETE, check=False) for units in (smaller, larger))
        return without.digest, with_unit.digest

    def _answer(self, tree: str, item: Comparison, ledger: Ledger | None) -> str | None:
        key = RolloutKey(
            tree=tree,
            task=self._run.manifest["panel_a"].get(item.task, ""),
            agent=self._run.manifest["agent"]["fingerprint"],
            replicate=item.replicate,
        )
        detail = ledger.detail(key) if ledger else None
        rollout = ledger.lookup([key], counted=False).get(key) if ledger else None
        if detail is None or rollout is None:
            return None
        if detail.transcript or len(detail.answer) > self._characters:
            self.rollouts.append(replace(rollout, answer=detail.answer, transcript=detail.transcript))
        return self._text(detail.answer)

    def _text(self, text: str) -> str:
        return clip(redact(text.strip()), self._characters)


def _target(task: Task) -> str:
    return task.target if isinstance(task.target, str) else json.dumps(task.target, ensure_ascii=False, default=str)
