"""The paper's figures for matplotlib (extra `plot`): each takes the axes to draw on and returns them.

from matplotlib import pyplot
pruning_curves(pyplot.gca(), curves)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from skillsv.model.edit import PruningCurve
from skillsv.model.value import Interval, Valuation
from skillsv.report.figures.palette import METHODS, MUTED, VERDICT
from skillsv.report.words import execution, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found,unused-ignore]  # an extra

_LINES = ("-", "--", ":", "-.", (0, (1, 3)))


def pruning_curves(
    ax: Axes, curves: Sequence[PruningCurve], *, full: Interval | None = None, trigger: Interval | None = None
) -> Axes:
    """Held-out score while units go, least valuable first; bands are intervals, level lines V(N) and V({m})."""
    for index, curve in enumerate(curves):
        colour, line = METHODS[index % len(METHODS)], _LINES[index % len(_LINES)]
        shares = [100 * point.share_removed for point in curve.points]
        scores = [100 * point.score.value for point in curve.points]
        low, high = ([100 * end for end in ends] for ends in zip(*_ends(curve), strict=True))
        ax.fill_between(shares, low, high, color=colour, alpha=0.12, linewidth=0)
        ax.plot(shares, scores, color=colour, linestyle=line, label=f"{curve.method} (AUC {100 * curve.auc.value:.1f})")
    for name, level in (("V(N)", full), ("V({m})", trigger)):
        if level is not None:
            ax.axhline(100 * level.value, color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
            ax.annotate(name, (100, 100 * level.value), xytext=(3, 0), textcoords="offset points", va="center")
    ax.set(xlabel="tokens removed (%)", ylabel="score on panel B", xlim=(0, 100))
    ax.legend(frameon=False)
    return ax


def _ends(curve: PruningCurve) -> list[tuple[float, float]]:
    return [(point.score.low, point.score.high) for point in curve.points]


def area_summary(ax: Axes, curves: Sequence[PruningCurve]) -> Axes:
    """The area under each pruning curve with its interval, one bar per method."""
    values = [100 * curve.auc.value for curve in curves]
    below = [100 * (curve.auc.value - curve.auc.low) for curve in curves]
    above = [100 * (curve.auc.high - curve.auc.value) for curve in curves]
    colours = [METHODS[index % len(METHODS)] for index in range(len(curves))]
    ax.bar([curve.method for curve in curves], values, yerr=[below, above], color=colours, capsize=3)
    ax.set(ylabel="area under the curve")
    return ax


def concentration(ax: Axes, valuations: Mapping[str, Valuation]) -> Axes:
    """How few units hold the value: the share of absolute value against the share of units, largest first."""
    for index, (name, valuation) in enumerate(valuations.items()):
        sizes = sorted((abs(unit.value.net.value) for unit in execution(valuation)), reverse=True)
        total = sum(sizes) or 1.0
        shares = [0.0, *(100 * part / total for part in accumulate(sizes))]
        places = [100 * count / max(1, len(sizes)) for count in range(len(sizes) + 1)]
        ax.plot(places, shares, label=name, color=METHODS[index % len(METHODS)], linestyle=_LINES[index % len(_LINES)])
    ax.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    ax.set(xlabel="units, most valuable first (%)", ylabel="share of absolute value (%)", xlim=(0, 100), ylim=(0, 102))
    ax.legend(frameon=False)
    return ax


def unit_values(ax: Axes, valuation: Valuation) -> Axes:
    """Every unit's net effect with its interval, best first: which stand clear of zero, and which do not."""
    ranked = sorted(execution(valuation), key=lambda unit: -unit.value.net.value)
    for place, unit in enumerate(ranked):
        net = unit.value.net
        spread = [[100 * (net.value - net.low)], [100 * (net.high - net.value)]]
        ax.errorbar([100 * net.value], [place], xerr=spread, fmt="o", color=VERDICT[unit.verdict.action], markersize=4)
    ax.axvline(0, color=MUTED, linewidth=0.8)
    # A dollar sign in a unit's text would start mathematics.
    ax.set_yticks(range(len(ranked)), [label(unit, 40).replace("$", r"\$") for unit in ranked])
    ax.invert_yaxis()
    ax.set(xlabel="net effect, points of score")
    return ax


def recovered_values(ax: Axes, valuation: Valuation, truth: Mapping[str, float]) -> Axes:
    """Estimated against planted values, with intervals; on the diagonal every value is recovered."""
    known = [unit for unit in execution(valuation) if unit.id in truth]
    for unit in known:
        net = unit.value.net
        spread = [[100 * (net.value - net.low)], [100 * (net.high - net.value)]]
        ax.errorbar([100 * truth[unit.id]], [100 * net.value], yerr=spread, fmt="o", color=METHODS[0], markersize=4)
    ends = [100 * value for unit in known for value in (truth[unit.id], unit.value.net.value)] or [0.0]
    ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color=MUTED, linewidth=0.8, linestyle=(0, (4, 4)))
    ax.set(xlabel="planted value, points", ylabel="estimated value, points")
    return ax
