"""The study as a table (one row a method and noise, means with standard errors over games), claims and a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from skillsv.extend.figures import FAINT, MUTED, NEGATIVE, POSITIVE, Scale, drawing, element, path
from skillsv_bench.estimators import arms
from skillsv_bench.estimators.study import SAME_ROLLOUTS, GameComparison, LateNoise

PANEL = 190.0
"""Width of one panel of the drawing, in pixels, as all lengths here."""

HEIGHT = 200.0
"""Height of one panel."""

MARGIN = 46.0
"""Space to the left of the first panel, for the labels of the axis."""

TOP = 40.0
"""Space above the panels, for the legend and their titles."""

BOTTOM = 44.0
"""Space below the panels, for the labels of the axis."""

CEILING = 2.0
"""The largest error drawn, in spreads of the true values; larger errors are drawn at the edge."""

SERIES = (
    ("auto", POSITIVE, "auto, "),
    ("Algorithm 1", NEGATIVE, "Algorithm 1, K="),
)
"""The curves: name, colour, and the beginning of the names of their methods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean with its standard error (None with a single game)."""

    value: float
    error: float | None = None

    def __str__(self) -> str:
        return f"{self.value:.2f}" if self.error is None else f"{self.value:.2f}±{self.error:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method under one kind of noise. `false` is the share of wrong verdicts among all verdicts."""

    noise: str
    arm: str
    rollouts: Mean
    error: Mean
    spearman: Mean
    covered: Mean | None
    plain: Mean | None
    decided: float | None
    false: float | None
    games: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One line of the bar: what was asked for, what was measured, and whether it holds."""

    text: str
    measured: str
    holds: bool


def mean_of(values: Sequence[float]) -> Mean:
    """The mean and its standard error."""
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return Mean(value=float(np.mean(values)), error=spread)


def table(comparisons: Sequence[GameComparison]) -> list[Row]:
    """All rows, noise by noise, methods in the order they were played."""
    rows = []
    for noise in dict.fromkeys(comparison.noise for comparison in comparisons):
        mine = [comparison for comparison in comparisons if comparison.noise == noise]
        rows += [_row(noise, quality.arm, mine) for quality in mine[0].qualities]
    return rows


def _row(noise: str, arm: str, comparisons: Sequence[GameComparison]) -> Row:
    found = [quality for quality in (comparison.of(arm) for comparison in comparisons) if quality is not None]
    covered = [quality.covered for quality in found if quality.covered is not None]
    plain = [quality.plain for quality in found if quality.plain is not None]
    decided, units = sum(quality.decided for quality in found), sum(quality.units for quality in found)
    return Row(
        noise=noise,
        arm=arm,
        rollouts=mean_of([quality.rollouts for quality in found]),
        error=mean_of([quality.error for quality in found]),
        spearman=mean_of([quality.spearman for quality in found]),
        covered=mean_of(covered) if covered else None,
        plain=mean_of(plain) if plain else None,
        decided=decided / units if covered else None,
        false=sum(quality.false for quality in found) / decided if decided else None,
        games=len(found),
    )


def claims(
    comparisons: Sequence[GameComparison], budgets: Sequence[int], late: LateNoise, ratio: float | None
) -> list[Claim]:
    """The bar of the adaptive estimator, line by line."""
    rows = {(row.noise, row.arm): row for row in table(comparisons)}
    found = [*_steady(comparisons, rows), *_stochastic(comparisons, rows, budgets), *_honest(rows, budgets)]
    found += [_pilot(comparisons), _late(late)]
    text = "both operators cost at most 2.2 times one, at equal mean error of the net effects"
    measured = "not reached" if ratio is None else f"{ratio:.2f} times"
    return [*found, Claim(text=text, measured=measured, holds=ratio is not None and ratio <= 2.2)]


def _steady(comparisons: Sequence[GameComparison], rows: dict[tuple[str, str], Row]) -> list[Claim]:
    saved = [comparison for comparison in comparisons if comparison.saved is not None]
    if not saved:
        return []
    total = mean_of([comparison.saved for comparison in saved if comparison.saved is not None])
    shapes = {
        shape: mean_of(
            [comparison.saved for comparison in saved if comparison.shape == shape and comparison.saved is not None]
        )
        for shape in dict.fromkeys(comparison.shape for comparison in saved)
    }
    worst = min(shapes, key=lambda shape: shapes[shape].value)
    never = sum(comparison.noise == "T=0" for comparison in comparisons) - len(saved)
    missed = f" ({never} games never reached it)" if never else ""
    made = [
        Claim(
            text="T=0: at least 5 times fewer rollouts than Algorithm 1 (K=12) at equal error, mean over games",
            measured=f"{total} times{missed}",
            holds=total.value >= 5 and not never,
        ),
        Claim(
            text="T=0: worst shape at least 2.5 times fewer",
            measured=f"{worst} {shapes[worst]} times",
            holds=shapes[worst].value >= 2.5,
        ),
    ]
    at = rows.get(("T=0", arms.auto_arm(1200)))
    if at is not None:
        text = "T=0: rmse/sd at most .37 at 1,200 rollouts"
        made.append(Claim(text=text, measured=str(at.error), holds=at.error.value <= 0.37))
    return made


def _stochastic(
    comparisons: Sequence[GameComparison], rows: dict[tuple[str, str], Row], budgets: Sequence[int]
) -> list[Claim]:
    made = []
    others = [comparison for comparison in comparisons if comparison.noise == "T=.5" and comparison.shape != "alfworld"]
    last = [quality for quality in (comparison.of(arms.auto_arm(4800)) for comparison in others) if quality is not None]
    if last:
        error = mean_of([quality.error for quality in last])
        text = "T=.5: rmse/sd at most .75 at 4,800 rollouts, without the ALFWorld shape"
        made.append(Claim(text=text, measured=str(error), holds=error.value <= 0.75))
    for arm, same in SAME_ROLLOUTS.items() if last else ():
        theirs, ours = rows["T=.5", arm].spearman, rows["T=.5", same].spearman
        text = f"T=.5: Spearman at least twice that of {arm} at the same rollouts (at most {max(budgets):,})"
        made.append(Claim(text=text, measured=f"{ours} against {theirs}", holds=ours.value >= 2 * theirs.value))
    curve = [
        rows["lapse", arms.auto_arm(budget)].error for budget in budgets if ("lapse", arms.auto_arm(budget)) in rows
    ]
    if curve:
        falls = all(after.value <= before.value + 1e-9 for before, after in pairwise(curve))
        text = "lapse: error no worse with more budget"
        made.append(Claim(text=text, measured=", ".join(map(str, curve)), holds=falls))
    return made


def _honest(rows: dict[tuple[str, str], Row], budgets: Sequence[int]) -> list[Claim]:
    names = {arms.auto_arm(budget) for budget in budgets if budget >= 1200}
    mine = [row for (_, arm), row in rows.items() if arm in names and row.covered is not None]
    if not mine:
        return []
    spans = {f"{row.noise} {row.arm.removeprefix('auto, ')}": row.covered.value for row in mine if row.covered}
    low, high = min(spans, key=spans.__getitem__), max(spans, key=spans.__getitem__)
    false = {f"{row.noise} {row.arm.removeprefix('auto, ')}": row.false or 0.0 for row in mine}
    worst = max(false, key=false.__getitem__)
    return [
        Claim(
            text="95 % intervals cover 92 to 98 % in every case from 1,200 rollouts",
            measured=f"{spans[low]:.1%} ({low}) to {spans[high]:.1%} ({high})",
            holds=spans[low] >= 0.92 and spans[high] <= 0.98,
        ),
        Claim(
            text="false decisions at most 2 % of decisions in every case from 1,200 rollouts",
            measured=f"{false[worst]:.1%} ({worst})",
            holds=false[worst] <= 0.02,
        ),
    ]


def _pilot(comparisons: Sequence[GameComparison]) -> Claim:
    right = [
        (comparison.noisy_after is not None and comparison.noisy_after <= 1200) is (comparison.noise != "T=0")
        for comparison in comparisons
    ]
    return Claim(
        text="noise told apart within 1,200 rollouts in at least 98 % of games",
        measured=f"{sum(right)} of {len(right)}",
        holds=float(np.mean(right)) >= 0.98,
    )


def _late(late: LateNoise) -> Claim:
    return Claim(
        text="noise that starts in the middle of a run is noticed",
        measured=f"{late.noticed} of {late.runs} runs, after {late.delay:.0f} rollouts (median)",
        holds=late.noticed == late.runs,
    )


def draw(rows: Sequence[Row]) -> str:
    """An SVG with a panel per noise: rmse/sd falling with rollouts; the dashed line is the constant."""
    noises = list(dict.fromkeys(row.noise for row in rows))
    panels = [
        _panel(noise, [row for row in rows if row.noise == noise], MARGIN + place * PANEL)
        for place, noise in enumerate(noises)
    ]
    legend = [
        element("text", name, x=MARGIN + 110 * place, y=16, fill=colour, font_weight="bold")
        for place, (name, colour, _) in enumerate(SERIES)
    ]
    return str(
        drawing(
            MARGIN + PANEL * len(noises) + 12,
            TOP + HEIGHT + BOTTOM,
            "Error of unit values against rollouts",
            "Root mean square error over the spread of the true values, for the adaptive estimator and Algorithm 1.",
            *legend,
            *panels,
        )
    )


def _panel(noise: str, rows: Sequence[Row], left: float) -> Markup:
    across = Scale(math.log(300), math.log(16000), left, left + PANEL - 24)
    up = Scale(0.0, CEILING, TOP + HEIGHT, TOP)
    parts = [element("text", noise, x=left, y=TOP - 8, font_weight="bold")]
    for tick in (0.0, 0.5, 1.0, 1.5, 2.0):
        dashes = "4 3" if tick == 1.0 else None
        stroke = MUTED if tick == 1.0 else FAINT
        y = up(tick)
        parts.append(element("line", x1=left, x2=left + PANEL - 24, y1=y, y2=y, stroke=stroke, stroke_dasharray=dashes))
        parts.append(element("text", f"{tick:g}", x=left - 6, y=y + 4, text_anchor="end", font_size=10, fill=MUTED))
    for tick in (600, 2400, 9600):
        x = across(math.log(tick))
        parts.append(
            element("text", f"{tick}", x=x, y=TOP + HEIGHT + 16, text_anchor="middle", font_size=10, fill=MUTED)
        )
    for _, colour, prefix in SERIES:
        parts += _curve([row for row in rows if _belongs(row.arm, prefix)], across, up, colour)
    parts.append(element("text", "rollouts", x=left, y=TOP + HEIGHT + 34, font_size=11, fill=MUTED))
    return element("g", *parts)


def _belongs(arm: str, prefix: str) -> bool:
    return arm.startswith(prefix) and arm.removeprefix(prefix).isdigit() and arm != arms.UNTRUNCATED


def _curve(rows: Sequence[Row], across: Scale, up: Scale, colour: str) -> list[Markup]:
    points = [(across(math.log(row.rollouts.value)), up(min(row.error.value, CEILING))) for row in rows]
    parts = [element("path", d=path(points), fill="none", stroke=colour, stroke_width=2)] if points else []
    for row, (x, y) in zip(rows, points, strict=True):
        spread = row.error.error or 0.0
        ends = [up(min(max(row.error.value + sign * spread, 0.0), CEILING)) for sign in (-1, 1)]
        parts.append(element("line", x1=x, x2=x, y1=ends[0], y2=ends[1], stroke=colour))
        label = f"{row.arm}: rmse/sd {row.error}"
        parts.append(element("circle", element("title", label), cx=x, cy=y, r=3.5, fill=colour))
    return parts
