"""Rankings to compare with: Closure-LOO, an LLM judge, and chance.

Closure-LOO: what is lost without a unit and all that needs it. The judge: any agent is asked how much each unit helps,
one unit at a time, and runs no task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.resources import files

import numpy as np

from skillsv.errors import RecordsError
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Request, RequestScores
from skillsv.model.skill import CompiledSkill, Unit
from skillsv.model.task import Task
from skillsv.model.value import Interval, Ranking

PROMPT = "judge_prompt.md"
"""The file with the question to the judge."""

_BOUNDS = (-1.0, 1.0)
"""The smallest and the largest difference of two scores."""

_BINARY = "(a file that is not text)"
"""What the judge reads in place of a file that is not text."""

_SCORE = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d+)?(?!\d)")
"""A number of at most three digits."""

_SCALE = re.compile(r"(/|out of|of)\s*100\b")
"""The scale after a score, as in 35/100: it is no score."""

_MOST_CHARACTERS = 20_000
"""Characters of one part of a unit that the judge reads."""

_MOST_NAMED = 5
"""Units without a score that the note names."""

_UNKNOWN_SCORE = 0.5
"""The place of a unit for which the judge gave no score: the middle of the scale."""


def closure_loo_requests(compiled: CompiledSkill, tasks: Sequence[str], *, replicate: int = 0) -> tuple[Request, ...]:
    """The rollouts of Closure-LOO: the full skill, and the skill without each unit's reverse closure, on every task."""
    coalitions = dict.fromkeys([compiled.everything, *(_without(compiled, unit) for unit in compiled.execution)])
    return tuple(_request(coalition, task, replicate) for coalition in coalitions for task in tasks)


def _without(compiled: CompiledSkill, unit: str) -> Coalition:
    return compiled.everything - compiled.reverse_closure(frozenset({unit}))


def _request(coalition: Coalition, task: str, replicate: int) -> Request:
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=replicate, why="baseline:loo")


def closure_loo(
    compiled: CompiledSkill, tasks: Sequence[str], answers: RequestScores, *, replicate: int = 0, level: float = 0.95
) -> Ranking:
    """V(N) - V(N without the reverse closure) for every unit, paired task by task; a missing score drops its pair."""
    values = {}
    for unit in compiled.execution:
        differences = (_drop(compiled, unit, task, answers, replicate) for task in tasks)
        drops = [drop for drop in differences if drop is not None]
        if not drops:
            raise RecordsError(
                f"no task was scored both with and without {unit}, so leaving it out says nothing.",
                hint="Run the baseline again.",
            )
        values[unit] = _paired_interval(drops, level)
    return Ranking(method="closure-loo", values=values)


def closure_loo_total(
    compiled: CompiledSkill, tasks: Sequence[str], answers: RequestScores, *, replicate: int = 0, level: float = 0.95
) -> Interval:
    """The sum of Closure-LOO over all units, to compare with the lift. It may exceed 1."""
    sums = []
    for task in tasks:
        drops = [_drop(compiled, unit, task, answers, replicate) for unit in compiled.execution]
        known = [drop for drop in drops if drop is not None]
        if len(known) == len(drops):
            sums.append(math.fsum(known))
    if not sums:
        raise RecordsError("no task was scored without each of the units.", hint="Run the baseline again.")
    most = float(len(compiled.execution))
    return _paired_interval(sums, level, bounds=(-most, most))


def _drop(compiled: CompiledSkill, unit: str, task: str, answers: RequestScores, replicate: int) -> float | None:
    full = answers[_request(compiled.everything, task, replicate)]
    without = answers[_request(_without(compiled, unit), task, replicate)]
    return None if full is None or without is None else full - without


def _paired_interval(drops: Sequence[float], level: float, bounds: tuple[float, float] = _BOUNDS) -> Interval:
    """Student's t interval over tasks; with one task it is as wide as the bounds."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    value, count = math.fsum(drops) / len(drops), len(drops)
    if count < 2:
        return Interval(value, *bounds)
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * float(np.std(drops, ddof=1)) / math.sqrt(count)
    return Interval(value, max(value - half, bounds[0]), min(value + half, bounds[1]))


def judge_tasks(compiled: CompiledSkill) -> Mapping[str, Task]:
    """One question per execution unit: what the skill is for, the unit's text, and a scale from 0 to 100."""
    template = files("skillsv.confirmation").joinpath(PROMPT).read_text(encoding="utf-8")
    purpose = _text(compiled, compiled.unit[compiled.trigger])
    questions = {}
    for unit in compiled.execution:
        prompt = template.replace("{{skill}}", purpose or compiled.skill.name)
        prompt = prompt.replace("{{section}}", " > ".join(compiled.unit[unit].section) or "(no section)")
        prompt = prompt.replace("{{unit}}", _text(compiled, compiled.unit[unit]))
        digest = blake2b(prompt.encode(), digest_size=16).hexdigest()
        questions[unit] = Task(id=f"judge-{unit}", input=prompt, digest=digest)
    return questions


def _text(compiled: CompiledSkill, unit: Unit) -> str:
    parts = []
    for extent in unit.extents:
        data = compiled.skill.file(extent.file).data
        try:
            text = _BINARY if data is None else data[extent.span.start : extent.span.end].decode()
        except UnicodeDecodeError:
            text = _BINARY
        parts.append(text[:_MOST_CHARACTERS])
    return "\n\n".join(parts).strip()


def read_score(answer: str) -> float | None:
    """The last number from 0 to 100 in a judge's answer, as a share of 1; None if there is none."""
    numbers = [int(text) for text in _SCORE.findall(_SCALE.sub(" ", answer)) if int(text) <= 100]
    return numbers[-1] / 100 if numbers else None


def judge_ranking(compiled: CompiledSkill, scores: Mapping[str, float | None]) -> Ranking:
    """The ranking by the judge's scores. A unit without a score is placed in the middle, and a note names it."""
    unknown = [unit for unit in compiled.execution if scores.get(unit) is None]
    notes = ["One judgement a unit, on a scale of its own: no interval, and no sum to compare with the lift."]
    if unknown:
        more = " ..." if len(unknown) > _MOST_NAMED else ""
        notes.append(f"No score could be read for {', '.join(unknown[:_MOST_NAMED])}{more}.")
    values = {}
    for unit in compiled.execution:
        score = scores.get(unit)
        place = _UNKNOWN_SCORE if score is None else score
        values[unit] = Interval(place, place, place)
    return Ranking(method="llm-judge", values=values, notes=tuple(notes))


def random_ranking(compiled: CompiledSkill, rng: np.random.Generator) -> Ranking:
    """A random number for every execution unit, the same for the same seed."""
    draws = rng.random(len(compiled.execution)).tolist()
    values = {unit: Interval(draw, draw, draw) for unit, draw in zip(compiled.execution, draws, strict=True)}
    return Ranking(method="random", values=values, notes=("Random numbers: they say nothing about the units.",))
