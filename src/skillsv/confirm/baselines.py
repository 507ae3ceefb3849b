"""Closure-LOO: what is lost when a unit goes, together with everything that needs it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.resources import files

import numpy as np

from skillsv.errors import RecordsError
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.rollout import Answers, Request
from skillsv.model.skill import CompiledSkill, Unit
from skillsv.model.task import Task
from skillsv.model.value import Interval, Ranking

_BOUNDS = (-1.0, 1.0)


def closure_loo_requests(compiled: CompiledSkill, tasks: Sequence[str], *, replicate: int = 0) -> tuple[Request, ...]:
    """The rollouts it needs: the whole skill, and the skill without each unit's reverse closure, on every task."""
    wanted = dict.fromkeys([compiled.everything, *(_without(compiled, unit) for unit in compiled.execution)])
    return tuple(_request(coalition, task, replicate) for coalition in wanted for task in tasks)


def _without(compiled: CompiledSkill, unit: str) -> Coalition:
    return compiled.everything - compiled.reverse_closure(frozenset({unit}))


def _request(coalition: Coalition, task: str, replicate: int) -> Request:
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=replicate, why="baseline:loo")


def closure_loo(
    compiled: CompiledSkill, tasks: Sequence[str], answers: Answers, *, replicate: int = 0, level: float = 0.95
) -> Ranking:
    """V(N) - V(N without the reverse closure) for every unit, paired task by task; a missing score drops its pair."""
    values = {}
    for unit in compiled.execution:
        found = (_drop(compiled, unit, task, answers, replicate) for task in tasks)
        drops = [drop for drop in found if drop is not None]
        if not drops:
            raise RecordsError(
                f"no task was scored both with and without {unit}, so leaving it out says nothing.",
                hint="Run the baseline again.",
            )
        values[unit] = _paired_interval(drops, level)
    return Ranking(method="closure-loo", values=values)


def closure_loo_total(
    compiled: CompiledSkill, tasks: Sequence[str], answers: Answers, *, replicate: int = 0, level: float = 0.95
) -> Interval:
    """The sum of Closure-LOO over all units: what the closure check holds against the lift. Not bounded by 1."""
    sums = []
    for task in tasks:
        drops = [_drop(compiled, unit, task, answers, replicate) for unit in compiled.execution]
        known = [drop for drop in drops if drop is not None]
        if len(known) == len(drops):
            sums.append(math.fsum(known))
    if not sums:
        raise RecordsError("no task was scored without every unit in turn.", hint="Run the baseline again.")
    most = float(len(compiled.execution))
    return _paired_interval(sums, level, bounds=(-most, most))


def _drop(compiled: CompiledSkill, unit: str, task: str, answers: Answers, replicate: int) -> float | None:
    whole = answers[_request(compiled.everything, task, replicate)]
    part = answers[_request(_without(compiled, unit), task, replicate)]
    return None if whole is None or part is None else whole - part


def _paired_interval(drops: Sequence[float], level: float, bounds: tuple[float, float] = _BOUNDS) -> Interval:
    """Student's t over tasks; one task bounds nothing."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    value, count = math.fsum(drops) / len(drops), len(drops)
    if count < 2:
        return Interval(value, *bounds)
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * float(np.std(drops, ddof=1)) / math.sqrt(count)
    return Interval(value, max(value - half, bounds[0]), min(value + half, bounds[1]))


# LLM judge: any agent is asked how much each unit helps, one unit at a time, without running a single task.

PROMPT = "judge_prompt.md"
_BINARY = "(a file that is not text)"
_SCORE = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d+)?(?!\d)")
_SCALE = re.compile(r"(/|out of|of)\s*100\b")
_LONGEST = 20_000


def judge_tasks(compiled: CompiledSkill) -> Mapping[str, Task]:
    """One question per execution unit: what the skill is for, the unit's text, and a scale from 0 to 100."""
    template = files("skillsv.confirm").joinpath(PROMPT).read_text(encoding="utf-8")
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
        parts.append(text[:_LONGEST])
    return "\n\n".join(parts).strip()


def read_score(answer: str) -> float | None:
    """The judge's last number from 0 to 100, as a share; None if there is none."""
    found = [int(text) for text in _SCORE.findall(_SCALE.sub(" ", answer)) if int(text) <= 100]
    return found[-1] / 100 if found else None


def judge_ranking(compiled: CompiledSkill, answers: Mapping[str, str]) -> Ranking:
    """Scores read from the answers, by unit. A unit whose answer holds no score is put in the middle, and named."""
    scores = {unit: read_score(answers.get(unit, "")) for unit in compiled.execution}
    silent = [unit for unit, score in scores.items() if score is None]
    notes = ["One judgement a unit, on a scale of its own: no interval, and no sum to compare with the lift."]
    if silent:
        notes.append(f"No score could be read for {', '.join(silent[:5])}{' ...' if len(silent) > 5 else ''}.")
    placed = {unit: 0.5 if score is None else score for unit, score in scores.items()}
    values = {unit: Interval(score, score, score) for unit, score in placed.items()}
    return Ranking(method="llm-judge", values=values, notes=tuple(notes))


# Random ranking: what any method must beat.


def random_ranking(compiled: CompiledSkill, rng: np.random.Generator) -> Ranking:
    """A uniform number for every execution unit; the generator's seed makes it repeatable."""
    draws = rng.random(len(compiled.execution)).tolist()
    values = {unit: Interval(draw, draw, draw) for unit, draw in zip(compiled.execution, draws, strict=True)}
    return Ranking(method="random", values=values, notes=("Random numbers: they say nothing about the units.",))
