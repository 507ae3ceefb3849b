"""What the scores on panel B prove: anchors, old skill against new, curves; all from the same table of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skillsv.confirmation.agreement import Agreement, agreements
from skillsv.confirmation.curves import Checkpoints, Comparison, areas, comparisons, curve
from skillsv.confirmation.gate import DEFAULT_MAX_DROP, Gate, intervals, lower_bound
from skillsv.confirmation.scoring import PanelScores
from skillsv.model.coalition import Coalition
from skillsv.model.edit import Confirmation
from skillsv.model.value import Anchors, Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Two versions of a skill. `same`: both give the agent the same bytes, so their scores cannot differ."""

    empty: Coalition
    trigger: Coalition
    old: Coalition
    new: Coalition
    tokens_old: int
    tokens_new: int
    same: bool = False

    def all(self) -> tuple[Coalition, ...]:
        """Anchors and both versions."""
        return (self.empty, self.trigger, self.old, self.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The result on panel B. `at_worst` is the lowest change that is not ruled out; the gate is compared with it.

    `areas` are the areas under each method's curve, task by task, so that several skills can be pooled.
    """

    confirmation: Confirmation
    anchors: Anchors
    at_worst: float
    level: float
    replicates: int
    left_out: int
    changed_tasks: int
    comparisons: tuple[Comparison, ...] = ()
    agreements: tuple[Agreement, ...] = ()
    areas: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def meets(self, gate: Gate) -> bool:
        """Whether "no worse than the gate's drop" is proved."""
        return self.at_worst >= -gate.max_drop


def prove(
    scores: PanelScores,
    versions: Versions,
    checkpoints: Mapping[str, Sequence[Checkpoints]],
    rankings: Sequence[Ranking],
    *,
    level: float,
    replicates: int,
    rng: np.random.Generator,
    max_drop: float = DEFAULT_MAX_DROP,
) -> Proof:
    """Compare two versions and the pruning paths of some methods by their scores on panel B."""
    paired = scores.paired()
    difference = paired.of(versions.new) - paired.of(versions.old)
    rows = np.vstack([paired.rows(versions.all()), difference])
    empty, trigger, old, new, delta = intervals(rows, level, rng)
    per_task = {method: areas(paired, paths) for method, paths in checkpoints.items()}
    confirmation = Confirmation(
        tasks=len(paired.tasks),
        old=old,
        new=new,
        delta=delta,
        tokens_old=versions.tokens_old,
        tokens_new=versions.tokens_new,
        curves=tuple(curve(method, paired, paths, level=level, rng=rng) for method, paths in checkpoints.items()),
        max_drop=max_drop,
    )
    at_worst = 0.0 if versions.same else lower_bound(difference, level, rng)
    return Proof(
        confirmation=replace(confirmation, at_worst=at_worst),
        anchors=Anchors(empty=empty, trigger=trigger, full=old),
        at_worst=at_worst,
        level=level,
        replicates=replicates,
        left_out=len(scores.tasks) - len(paired.tasks),
        changed_tasks=int(np.count_nonzero(difference)),
        comparisons=comparisons(per_task, level=level, rng=rng),
        agreements=agreements(rankings, rng),
        areas={method: tuple(values.tolist()) for method, values in per_task.items()},
    )
