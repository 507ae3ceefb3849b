"""What decided the value of each unit: tasks with the answers with and without it, as the page shows them.

`skillsv.pipeline.evidence` finds them in the records of a run and reads the answers from its ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidingTask:
    """One task whose score changed when a unit was added to a partial skill.

    `others` of the `most` other units were in that partial skill. Texts are bounded; None where they are not known.
    `trees` are the renderings without and with the unit, by which transcripts are found.
    """

    task: str
    stratum: str = ""
    input: str | None = None
    expected: str | None = None
    answer_with: str | None = None
    answer_without: str | None = None
    score_with: float
    score_without: float
    others: int
    most: int
    trees: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEvidence:
    """What the records say about one unit: the tasks that it raised and lowered, out of how many comparisons.

    A comparison is one task with two partial skills that differ by this unit alone. `raised` and `lowered` hold task
    ids; a task may be in both. `examples` are the tasks to show.
    """

    raised: tuple[str, ...] = ()
    lowered: tuple[str, ...] = ()
    comparisons: int = 0
    examples: tuple[DecidingTask, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedPair:
    """Two units whose effects depend on each other, by the records: they say the same, or need each other."""

    first: str
    second: str
    redundant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of a run: by unit, with the stratum of each task of panel A, and the pairs of related units.

    `noisy`: the agent does not repeat itself, so a single change of a score may be chance.
    """

    by_unit: Mapping[str, UnitEvidence] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    pairs: tuple[RelatedPair, ...] = ()
    noisy: bool = False

    def of(self, unit: str) -> UnitEvidence:
        """The evidence about one unit; empty where there is none."""
        return self.by_unit.get(unit, UnitEvidence())

    def by_stratum(self, tasks: tuple[str, ...]) -> dict[str, int]:
        """How many of these tasks each stratum has, the largest first; tasks without a stratum are left out."""
        numbers: dict[str, int] = {}
        for task in tasks:
            if stratum := self.strata.get(task, ""):
                numbers[stratum] = numbers.get(stratum, 0) + 1
        return dict(sorted(numbers.items(), key=lambda item: (-item[1], item[0])))
