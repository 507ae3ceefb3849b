"""How often the forecasts of a steady run failed: the run's own evidence of deciding units that are still hidden.

The table of a task forecasts the score of every coalition whose pattern was scored. Each probe is compared with the
forecast that the earlier scores of its task gave. A failure shows a deciding unit that was hidden. How soon failures
come after the last finding, over all tasks of the run, says how likely a task still hides one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skillsv.estimate.adaptive.observations import Bools, Floats
from skillsv.model.task_table import Mask, TaskTable

SHARES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
"""Shares of the tasks that hide a unit, to be weighed by the run's failures."""

DETECTIONS = np.array([0.05, 0.08, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7])
"""Chances that one probe shows a hidden unit, to be weighed by the run's failures."""

USUAL_SHARE = 0.2
"""Share expected before any probe."""

SHARE_SPREAD = 1.5
"""Spread of the expected share on the logit scale: wide, so a few tasks outweigh it."""

USUAL_DETECTION = (0.25, 0.6)
"""Mean chance expected before any probe, and its spread on the log scale."""

ALIKE = 4.0
"""How alike the chances of different tasks are, as the sum of the two parameters of their beta distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Probes on one task between two findings. `some`: a deciding unit was known; `clean`: forecasts that held.

    `failure` is the size of the failure that ended the stretch; None while it goes on.
    """

    some: bool
    clean: int
    failure: float | None


def replay_forecasts(masks: Sequence[Mask], scores: Sequence[float], probes: Bools, full: Mask) -> list[Stretch]:
    """The stretches of one task, from its rows in the order in which they were asked; the last one goes on.

    While both anchors differ and no deciding unit is known, nothing is forecast.
    """
    table, deciding = TaskTable(), set[int]()
    stretches: list[Stretch] = []
    clean = 0
    for mask, score, probe in zip(masks, scores, probes.tolist(), strict=True):
        if mask in table.scores:
            continue
        ends = table.scores.get(0), table.scores.get(full)
        forecast = table.score_of(mask & sum(1 << unit for unit in deciding))
        if probe and forecast is not None and (deciding or ends[0] == ends[1]):
            if forecast[0] == score:
                clean += 1
            else:
                stretches.append(Stretch(some=bool(deciding), clean=clean, failure=abs(score - forecast[0])))
                clean = 0
        found = _shown_by(table, mask, score) - deciding
        table.add(mask, (score,))
        if found:
            deciding |= found
            table.add_deciding(sorted(found))
            clean = 0
    return [*stretches, Stretch(some=bool(deciding), clean=clean, failure=None)]


def _shown_by(table: TaskTable, mask: Mask, score: float) -> set[int]:
    """The units that this score shows to be deciding: all else equal, the score differs."""
    return {
        (mask ^ other).bit_length() - 1
        for other, (known,) in table.scores.items()
        if known != score and (mask ^ other).bit_count() == 1
    }


class HiddenChance:
    """The chance that a task hides a deciding unit after some clean probes, learned from the stretches of all tasks.

    A share of the tasks hides a unit, and each probe there shows it with a chance that differs from task to task: a
    unit that is easy to see is found soon, so what is still hidden is hard to see. Share and mean chance are averaged
    over what the stretches leave possible; `usual_share` is the share that is expected before any probe.
    """

    def __init__(self, stretches: Sequence[Stretch], usual_share: float = USUAL_SHARE) -> None:
        share, detection = (grid.ravel() for grid in np.meshgrid(SHARES, DETECTIONS, indexing="ij"))
        self._share, self._seen, self._unseen = share, ALIKE * detection, ALIKE * (1.0 - detection)
        clean = np.array([stretch.clean for stretch in stretches], dtype=np.float64)
        failed = np.array([stretch.failure is not None for stretch in stretches], dtype=np.bool_)
        unseen = self._unseen_after(clean)
        found = unseen * self._seen / (ALIKE + clean[:, None])
        chance = np.where(failed[:, None], share * found, share * unseen + 1.0 - share)
        prior = -0.5 * ((_logit(share) - _logit(np.array(usual_share))) / SHARE_SPREAD) ** 2
        centre, width = USUAL_DETECTION
        prior -= 0.5 * (np.log(detection / centre) / width) ** 2
        total = prior + np.log(chance).sum(axis=0)
        weight = np.exp(total - total.max())
        self._weight = weight / weight.sum()

    def after(self, clean: Floats) -> Floats:
        """The chance for each number of clean probes."""
        unseen = self._share * self._unseen_after(clean)
        chances: Floats = (unseen / (unseen + 1.0 - self._share)) @ self._weight
        return chances

    def _unseen_after(self, clean: Floats) -> Floats:
        """The chance that so many probes miss a hidden unit, where its chance to be seen has a beta distribution."""
        from scipy.special import betaln  # type: ignore[import-untyped]

        missed: Floats = np.exp(betaln(self._seen, self._unseen + clean[:, None]) - betaln(self._seen, self._unseen))
        return missed


def _logit(share: Floats) -> Floats:
    result: Floats = np.log(share / (1.0 - share))
    return result
