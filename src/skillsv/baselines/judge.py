"""LLM judge: any agent is asked how much each unit helps, one unit at a time, without running a single task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from importlib.resources import files

from skillsv.model.skill import CompiledSkill, Unit
from skillsv.model.task import Task
from skillsv.model.value import Interval, Ranking

PROMPT = "judge_prompt.md"
_BINARY = "(a file that is not text)"
_SCORE = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d+)?(?!\d)")
_SCALE = re.compile(r"(/|out of|of)\s*100\b")
_LONGEST = 20_000


def judge_tasks(compiled: CompiledSkill) -> Mapping[str, Task]:
    """One question per execution unit: what the skill is for, the unit's text, and a scale from 0 to 100."""
    template = files("skillsv.baselines").joinpath(PROMPT).read_text(encoding="utf-8")
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
