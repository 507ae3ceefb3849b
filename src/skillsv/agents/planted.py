"""Planted agents: they solve a task by a known formula over marks that they find in the rendered skill.

Units of a planted skill carry visible marks such as `[rule-07]`. A task says in `metadata["planted"]` which marks help
or hurt it. The agent reads the text and the files that it receives, as any other agent does, so that an error of the
renderer changes its answers.

    {"base": -1.0, "bare": -1.0,                          logit without any mark; logit without a skill
     "main": {"rule-01": 2.0, "rule-09": -1.5},           weight of one mark
     "any": [[["rule-02", "rule-03"], 2.0]],              weight if at least one mark is there: redundant units
     "all": [[["rule-04", "rule-05"], 2.0]],              weight if all marks are there: complementary units
     "crowd": [120, 0.5]}                                 cost of every hundred words above 120
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task

MARK = re.compile(r"\[(rule-\d+)\]")
"""A mark in the text of a skill."""

SOLVED = "solved"
"""The answer to a task that the agent solves."""

UNSOLVED = "unsolved"
"""The answer to a task that the agent does not solve."""

_CACHE_SIZE = 4096
"""Renderings whose marks one agent keeps in memory."""

_MAX_LOGIT = 700.0
"""math.exp overflows above 709."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What the agent reads in a rendered skill: its marks and its length in words."""

    marks: frozenset[str]
    words: int


def read_marks(text: str) -> Sight:
    """The marks in a text and its number of words."""
    return Sight(frozenset(MARK.findall(text)), len(text.split()))


def planted_logit(formula: Mapping[str, Any], sight: Sight | None) -> float:
    """The logit of solving a task: positive means solved. `sight` is None without a skill."""
    base = float(formula.get("base", 0.0))
    if sight is None:
        return float(formula.get("bare", base))
    marks = sight.marks
    total = base + sum(weight for mark, weight in formula.get("main", {}).items() if mark in marks)
    total += sum(weight for group, weight in formula.get("any", ()) if not marks.isdisjoint(group))
    total += sum(weight for group, weight in formula.get("all", ()) if marks.issuperset(group))
    if "crowd" in formula:
        limit, weight = formula["crowd"]
        total -= weight * max(0, sight.words - limit) / 100
    return float(total)


def success_chance(logit: float, *, temperature: float = 0.0, lapse: float = 0.0) -> float:
    """The probability of solving: a step at 0, smoothed by `temperature`; `lapse` is the chance of the other answer."""
    if temperature > 0:
        chance = 1.0 / (1.0 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit / temperature))))
    else:
        chance = float(logit > 0)
    return chance * (1 - lapse) + (1 - chance) * lapse


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedAgent:
    """Answers `solved` or `unsolved`. Its random numbers are hashes of its input, so a repeated rollout repeats."""

    name: str
    temperature: float = 0.0
    lapse: float = 0.0
    _cache: dict[str, Sight] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """Names the kind of agent and the amount of noise."""
        return f"planted:{self.name}/1"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:  # noqa: ARG002
        """Answer one task from the marks in the rendered skill."""
        sight = None if skill is None or skill.empty else self._read(skill)
        tree = "" if skill is None or skill.empty else skill.digest
        solved = self.solves(sight, task, replicate, tree=tree)
        words = sight.words if sight else 0
        usage = Usage(input_tokens=words + len(task.input.split()), output_tokens=1, usd=0.0)
        return Outcome(answer=SOLVED if solved else UNSOLVED, usage=usage, opened=sight is not None)

    def solves(self, sight: Sight | None, task: Task, replicate: int = 0, *, tree: str = "") -> bool:
        """Whether the agent solves the task. Simulations call this directly: it needs no files and no event loop."""
        formula = task.metadata.get("planted", task.undeclared.get("planted"))
        if not isinstance(formula, Mapping):
            raise AgentFailure(f"task {task.id} has no `planted` formula in its metadata.", kind="bad-request")
        chance = success_chance(planted_logit(formula, sight), temperature=self.temperature, lapse=self.lapse)
        if chance in (0.0, 1.0):
            return chance == 1.0
        return _uniform(tree, task.id, str(replicate), self.fingerprint) < chance

    def _read(self, skill: Rendering) -> Sight:
        if skill.digest not in self._cache:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.pop(next(iter(self._cache)))
            texts = (data.decode("utf-8", errors="replace") for data in skill.contents.values())
            self._cache[skill.digest] = read_marks("\n".join(texts))
        return self._cache[skill.digest]


def _uniform(*parts: str) -> float:
    """A number in [0, 1) that is a hash of the arguments."""
    digest = blake2b("\0".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def make_planted(name: str) -> Agent:
    """The agent called `rules`, `noisy@TEMPERATURE` or `lapse@PROBABILITY` (the name may begin with `planted:`)."""
    kind, _, amount = name.removeprefix("planted:").partition("@")
    value = _read_amount(name, amount) if kind in {"noisy", "lapse"} else 0.0
    if kind == "rules" and not amount:
        return PlantedAgent(name="rules")
    if kind == "noisy" and value > 0:
        return PlantedAgent(name=f"noisy@{value:g}", temperature=value)
    if kind == "lapse" and 0 < value <= 0.5:
        return PlantedAgent(name=f"lapse@{value:g}", lapse=value)
    raise _unknown_agent(name)


def _read_amount(name: str, amount: str) -> float:
    try:
        value = float(amount)
    except ValueError:
        raise _unknown_agent(name) from None
    if not math.isfinite(value):
        raise _unknown_agent(name)
    return value


def _unknown_agent(name: str) -> SettingsError:
    return SettingsError(
        f"there is no planted agent {name!r}.", hint="Use planted:rules, planted:noisy@0.5 or planted:lapse@0.08."
    )
