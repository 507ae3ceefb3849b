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


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePolicy:
    """How often a text is pruned, what that may cost, and how sure it must be.

    >>> PrunePolicy(every=2, budget=300, max_drop=5).keep_regions
    True

    - `every`: prune after each so many accepted edits.
    - `budget`: rollouts of one pruning, values and proof together.
    - `max_drop`: points of a hundred that the shorter text may lose at most; the proof rules out more.
    - `same_examples`: prove it on the examples that chose the lines, where there are few; it then holds for these.
    - `least_units`: a text with fewer units is left alone.
    - `keep_regions`: never remove what an optimizer wrote between its markers.
    - `charge`: count these rollouts against the budget of the optimizer, where it has one.
    - `run_dir`: a folder that keeps all rollouts, so that a killed run pays for nothing twice; without it they live in
      a temporary folder.
    """

    every: int = 1
    budget: int = 400
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """The outcome of one pruning.

    `text` is the shorter text where it is proved, else the text as it was. `removed` holds the texts of the removed
    units. `valuation` is None where nothing was estimated. `rollouts` were spent; `note` says what happened.
    """

    text: str
    removed: tuple[str, ...] = ()
    valuation: sv.Valuation | None = None
    rollouts: int = 0
    note: str = ""


@dataclass(slots=True)
class Pruner:
    """Values and shortens the texts of one optimization. The values of a text are kept: asking again costs nothing.

    `examples` are those that the optimizer learns from, not those that report its result. A part of them is kept aside
    for the proof. `rollouts` counts the calls of the evaluating function so far.
    """

    examples: Sequence[object]
    policy: PrunePolicy = field(default_factory=PrunePolicy)
    rollouts: int = 0
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

    def shorten(self, text: str, evaluate: Evaluate, *, version: str = "") -> PruneResult:
        """The shorter text where it is proved no worse, else the text as it was."""
        key = f"{version}\0{text}"
        if key in self._results:
            return replace(self._results[key], rollouts=0)
        before = self.rollouts
        result = replace(self._shrink(text, evaluate, version), rollouts=self.rollouts - before)
        self._results[key] = result
        return result

    def _shrink(self, text: str, evaluate: Evaluate, version: str) -> PruneResult:
        if len(sv.compile(text).units) < self.policy.least_units:
            return PruneResult(text=text, note="There are too few units to prune.")
        try:
            short = sv.shrink(
                text,
                evaluate=self._counted(evaluate),
                examples=self.examples,
                version=version,
                max_drop=self.policy.max_drop,
                max_rollouts=self.policy.budget,
                same_tasks=self.policy.same_examples,
                keep=self._kept(text),
                run_dir=self._folder(),
                jobs=self.policy.jobs,
                seed=self.policy.seed,
            )
        except sv.errors.NoDifference:
            return PruneResult(text=text, note="The text makes no difference.")
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
