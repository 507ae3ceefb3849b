"""Prune and confirm: the step that all integrations share.

An optimizer proposes a text and accepts it. `Pruner.shorten` then values the units of this text, removes those that are
shown to be worth nothing or to do harm, and keeps the shorter text only if it is proved no worse on examples that no
value was estimated on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import skillsv as sv
from skillsv.integrations.feedback import describe_values

Evaluate = Callable[[str, object], float]
"""Scores a text on one example: a number from 0 to 1."""

AT_THE_END = "Not pruned: the agent is noisy, so it is pruned once, after the end of the optimizer."
"""The note of a pruning that a noisy agent postpones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePolicy:
    """How often a text is pruned, what that may cost, and how sure it must be.

    >>> PrunePolicy(total=3000).optimizer_calls, PrunePolicy(total=1000).optimizer_calls
    (2200, 1000)

    - `every`: prune after each so many accepted edits.
    - `budget`: rollouts of one pruning, values and proof together.
    - `share`: the largest share of all metric calls so far that pruning may take, where the optimizer counts its own;
      until then nothing is pruned, so a small budget is left to the optimizer. A noisy agent is pruned once, after
      the end of such an optimizer: there a pruning removes less, and the optimizer needs its calls more.
    - `least_budget`: a pruning that may spend fewer rollouts is not begun: it would show too little.
    - `noisy_budget`: what is kept of `total` for the one pruning of a noisy agent, where the optimizer can be told.
    - `total`: metric calls of the optimizer and of pruning together, where there is a limit. A pruning that would
      exceed it is not begun; `optimizer_calls` is the optimizer's part.
    - `max_drop`: points of a hundred that the shorter text may lose at most; the proof rules out more.
    - `same_examples`: prove it on the examples that chose the lines, where there are few; it then holds for these.
    - `least_units`: a text with fewer units is left alone.
    - `keep_regions`: never remove what an optimizer wrote between its markers.
    - `charge`: count these rollouts against the budget of the optimizer, where it has one.
    - `run_dir`: a folder that keeps all rollouts, so that a killed run pays for nothing twice; without it they live in
      a temporary folder.
    """

    every: int = 5
    budget: int = 800
    share: float = 0.3
    least_budget: int = 400
    noisy_budget: int = 500
    total: int | None = None
    max_drop: float = 10.0
    same_examples: bool = False
    least_units: int = 3
    keep_regions: bool = True
    charge: bool = True
    jobs: int = 8
    seed: int = 42
    run_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.every < 1 or self.budget < 1:
            raise sv.errors.SettingsError("a pruning policy needs every >= 1 and budget >= 1.")
        if not 0 < self.share < 1:
            raise sv.errors.SettingsError("the share of a pruning policy lies between 0 and 1.")

    @property
    def optimizer_calls(self) -> int:
        """The part of `total` to give to the optimizer: what is left of it pays for a last pruning after its end."""
        return self.optimizer_limit(noisy=False)

    def optimizer_limit(self, *, noisy: bool) -> int:
        """The same for an agent that is known to be noisy, or not."""
        if self.total is None:
            raise sv.errors.SettingsError("a pruning policy without total does not limit the optimizer.")
        last = min(self.noisy_budget if noisy else self.budget, int(self.share * self.total))
        return self.total - last if self.is_enough(last) else self.total

    def affordable(self, own_calls: int, spent: int, *, last: bool = False) -> int:
        """The rollouts that a pruning may take, after so many metric calls of the optimizer and of pruning.

        The `last` one, after the end of the optimizer, may take all that is left of a total.
        """
        by_share = int(own_calls * self.share / (1 - self.share)) - spent
        left = by_share if self.total is None else self.total - own_calls - spent
        return max(min(self.budget, left if last else min(by_share, left)), 0)

    def is_enough(self, rollouts: int) -> bool:
        """Whether a pruning with so many rollouts is begun."""
        return rollouts >= min(self.least_budget, self.budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """The outcome of one pruning.

    `text` is the shorter text where it is proved, else the text as it was. `removed` holds the texts of the removed
    units. `valuation` is None where nothing was estimated. `rollouts` were spent; `note` says what happened.
    `postponed`: too few metric calls were made to pay for it, or a noisy agent is pruned at the end alone.
    """

    text: str
    removed: tuple[str, ...] = ()
    valuation: sv.Valuation | None = None
    rollouts: int = 0
    note: str = ""
    postponed: bool = False


@dataclass(slots=True)
class Pruner:
    """Values and shortens the texts of one optimization. The values of a text are kept: asking again costs nothing.

    `examples` are those that the optimizer learns from, not those that report its result. A part of them is kept aside
    for the proof. `rollouts` counts the calls of the evaluating function so far. `own_calls` are the metric calls that
    the optimizer made for itself; None where nobody counts them, and `policy.share` limits nothing. `noisy`: a pruning
    found that the agent does not repeat itself.
    """

    examples: Sequence[object]
    policy: PrunePolicy = field(default_factory=PrunePolicy)
    rollouts: int = 0
    own_calls: int | None = None
    noisy: bool = False
    _results: dict[str, PruneResult] = field(default_factory=dict)
    _feedback: dict[str, str] = field(default_factory=dict)
    _temporary: TemporaryDirectory[str] | None = None

    def value(self, text: str, evaluate: Evaluate, *, version: str = "") -> sv.Valuation | None:
        """The values of this text's units; None where nothing could be estimated. It is shortened on the way.

        `version` names everything besides the text that the scores depend on.
        """
        return self.shorten(text, evaluate, version=version).valuation

    def known_values(self, text: str) -> str:
        """What was measured of this text's lines, in sentences; empty where nothing is known. Costs nothing.

        A text that pruning shortened is described by the values of the lines that are left.
        """
        return self._feedback.get(text, "")

    def shorten(self, text: str, evaluate: Evaluate, *, version: str = "", last: bool = False) -> PruneResult:
        """The shorter text where it is proved no worse, else the text as it was. `last`: the optimizer has ended."""
        key = f"{version}\0{text}"
        if key in self._results:
            return replace(self._results[key], rollouts=0)
        if self.noisy and not self._may_be_noisy(last=last):
            return PruneResult(text=text, note=AT_THE_END, postponed=True)
        budget = self._budget(last=last)
        if not self.policy.is_enough(budget):
            return PruneResult(text=text, note=self._too_little(budget), postponed=True)
        before = self.rollouts
        try:
            result = self._shrink(text, evaluate, version, budget, steady_only=not self._may_be_noisy(last=last))
        except sv.errors.NoisyAgent:
            self.noisy = True
            return PruneResult(text=text, rollouts=self.rollouts - before, note=AT_THE_END, postponed=True)
        result = replace(result, rollouts=self.rollouts - before)
        self._results[key] = result
        return result

    def _may_be_noisy(self, *, last: bool) -> bool:
        """Whether a noisy agent is pruned now: its optimizer has ended, or loses no calls by it."""
        return last or self.own_calls is None

    def _budget(self, *, last: bool) -> int:
        """The rollouts that the next pruning may take."""
        if self.own_calls is None:
            return self.policy.budget
        return self.policy.affordable(self.own_calls, self.rollouts, last=last)

    def _too_little(self, budget: int) -> str:
        return (
            f"Not pruned: the policy leaves {budget} rollouts for it after {self.own_calls} metric calls of the "
            f"optimizer and {self.rollouts} of pruning; it needs {min(self.policy.least_budget, self.policy.budget)}."
        )

    def _shrink(self, text: str, evaluate: Evaluate, version: str, budget: int, *, steady_only: bool) -> PruneResult:
        if len(sv.compile(text).units) < self.policy.least_units:
            return PruneResult(text=text, note="There are too few units to prune.")
        try:
            short = sv.shrink(
                text,
                evaluate=self._counted(evaluate),
                examples=self.examples,
                version=version,
                max_drop=self.policy.max_drop,
                max_rollouts=budget,
                same_tasks=self.policy.same_examples,
                keep=self._kept(text),
                by_values=True,  # values are feedback, and a hidden gain is worth more than tokens
                steady_only=steady_only,
                run_dir=self._folder(),
                jobs=self.policy.jobs,
                seed=self.policy.seed,
            )
        except sv.errors.NoDifference:
            return PruneResult(text=text, note="The text makes no difference.")
        except sv.errors.NoisyAgent:
            raise
        except sv.errors.GateNotMet as error:
            return PruneResult(text=text, note=error.what)
        valuation = short.run.valuation
        self._feedback[text] = describe_values(valuation)
        if not short.text.strip():  # an optimizer cannot go on from no text
            return PruneResult(text=text, valuation=valuation, note="Nothing would be left, so the text stays.")
        if short.met:
            self._feedback[short.text] = describe_values(valuation, without=short.removed)
        texts = {unit.id: unit.text.strip() for unit in valuation.units}
        return PruneResult(
            text=short.text,
            removed=tuple(texts[unit] for unit in short.removed),
            valuation=valuation,
            note=short.lines()[0],
        )

    def _kept(self, text: str) -> tuple[str, ...]:
        """The units that must stay: regions that the optimizer itself rewrites."""
        if not self.policy.keep_regions:
            return ()
        return tuple(unit.id for unit in sv.compile(text).units if unit.kind == "region")

    def _counted(self, evaluate: Evaluate) -> Evaluate:
        """The same function, which counts its calls. It keeps the identity of the function that it wraps."""
        lock = Lock()

        @wraps(evaluate)
        def counted(text: str, example: object) -> float:
            with lock:
                self.rollouts += 1
            return evaluate(text, example)

        return counted

    def _folder(self) -> Path:
        """The folder of all runs of this optimization. They share their rollouts."""
        if self.policy.run_dir is not None:
            return Path(self.policy.run_dir)
        if self._temporary is None:
            self._temporary = TemporaryDirectory(prefix="skillsv-")
        return Path(self._temporary.name) / "run"
