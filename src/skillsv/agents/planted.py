"""An agent whose answers are known: it follows the marks it finds in the rendered skill, and nothing else.

Units of a planted skill carry visible marks such as `[rule-07]`; a task says in `metadata["planted"]` which marks help
or hurt it. The agent reads the text and the files it is given, like any other agent, so that a wrong rendering shows.

    {"base": -1.0, "bare": -1.0,                          logit with no mark in sight; with no skill at all
     "main": {"rule-01": 2.0, "rule-09": -1.5},           a mark alone
     "any": [[["rule-02", "rule-03"], 2.0]],              at least one of them: a redundant pair
     "all": [[["rule-04", "rule-05"], 2.0]],              all of them: a complementary pair
     "crowd": [120, 0.5]}                                 per hundred words above 120: context that costs
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
SOLVED, UNSOLVED = "solved", "unsolved"
_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Sight:
    """What the agent takes from a rendered skill: its marks and its length in words."""

    marks: frozenset[str]
    words: int


def read_marks(text: str) -> Sight:
    """The marks in a text, and how many words there are to read."""
    return Sight(frozenset(MARK.findall(text)), len(text.split()))


def planted_logit(formula: Mapping[str, Any], sight: Sight | None) -> float:
    """How strongly a task leans to being solved; None: no skill at all. Solved above zero."""
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
    """The probability of solving: a step at zero, softened by temperature, flipped by lapses."""
    if temperature > 0:
        sure = 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, logit / temperature))))
    else:
        sure = float(logit > 0)
    return sure * (1 - lapse) + (1 - sure) * lapse


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedAgent:
    """Answers `solved` or `unsolved`; chance is a hash of what it was given, so a repeated rollout repeats."""

    name: str
    temperature: float = 0.0
    lapse: float = 0.0
    _seen: dict[str, Sight] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """Names the rule and its noise."""
        return f"planted:{self.name}/1"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:  # noqa: ARG002
        """Answer one task from the marks in the rendered skill."""
        sight = None if skill is None or skill.empty else self._sight(skill)
        tree = "" if skill is None or skill.empty else skill.digest
        solved = self.solves(sight, task, replicate, tree=tree)
        words = sight.words if sight else 0
        usage = Usage(input_tokens=words + len(task.input.split()), output_tokens=1, usd=0.0)
        return Outcome(answer=SOLVED if solved else UNSOLVED, usage=usage, opened=sight is not None)

    def solves(self, sight: Sight | None, task: Task, replicate: int = 0, *, tree: str = "") -> bool:
        """Whether the task is solved with what was seen. The fast path: no files, no event loop."""
        formula = task.metadata.get("planted", task.undeclared.get("planted"))
        if not isinstance(formula, Mapping):
            raise AgentFailure(f"task {task.id} has no `planted` formula in its metadata.", kind="bad-request")
        chance = success_chance(planted_logit(formula, sight), temperature=self.temperature, lapse=self.lapse)
        if chance in (0.0, 1.0):
            return chance == 1.0
        return _uniform(tree, task.id, str(replicate), self.fingerprint) < chance

    def _sight(self, skill: Rendering) -> Sight:
        if skill.digest not in self._seen:
            if len(self._seen) >= _REMEMBERED:
                self._seen.pop(next(iter(self._seen)))
            texts = (data.decode("utf-8", errors="replace") for data in skill.contents.values())
            self._seen[skill.digest] = read_marks("\n".join(texts))
        return self._seen[skill.digest]


def _uniform(*parts: str) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    digest = blake2b("\0".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def make_planted(name: str) -> Agent:
    """The agent called `rules`, `noisy@TEMPERATURE` or `lapse@PROBABILITY` (`planted:` may stand before the name)."""
    kind, _, amount = name.removeprefix("planted:").partition("@")
    value = _amount(name, amount) if kind in {"noisy", "lapse"} else 0.0
    if kind == "rules" and not amount:
        return PlantedAgent(name="rules")
    if kind == "noisy" and value > 0:
        return PlantedAgent(name=f"noisy@{value:g}", temperature=value)
    if kind == "lapse" and 0 < value <= 0.5:
        return PlantedAgent(name=f"lapse@{value:g}", lapse=value)
    raise _unknown(name)


def _amount(name: str, amount: str) -> float:
    try:
        value = float(amount)
    except ValueError:
        raise _unknown(name) from None
    if not math.isfinite(value):
        raise _unknown(name)
    return value


def _unknown(name: str) -> SettingsError:
    return SettingsError(
        f"there is no planted agent {name!r}.", hint="Use planted:rules, planted:noisy@0.5 or planted:lapse@0.08."
    )
