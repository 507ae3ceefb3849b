"""The comparison on family games as a Markdown table, for the terminal and for documents."""

from __future__ import annotations

from collections.abc import Sequence

from skillsv_bench.estimators.family_summary import FamilyRow
from skillsv_bench.estimators.summary import Claim, Mean

HEAD = (
    "kind",
    "method",
    "rollouts",
    "rmse/sd",
    "own target",
    "Spearman",
    "slope",
    "covered",
    "above 1 point",
    "new tasks",
    "± points",
    "decided",
    "false",
)
"""Columns. `own target`: rmse/sd against what the method itself estimates; `± points`: median half width."""


def family_text(rows: Sequence[FamilyRow], bar: Sequence[Claim]) -> str:
    """A table for each kind of noise, then the bar. A star marks kinds that constants were chosen on."""
    lines: list[str] = []
    for noise in dict.fromkeys(row.noise for row in rows):
        mine = [row for row in rows if row.noise == noise]
        lines += [f"{noise}, {max(row.games for row in mine if row.kind == mine[0].kind)} games of each kind", ""]
        lines += [_line(HEAD), _line(["---", "---", *["--:"] * (len(HEAD) - 2)])]
        lines += [_line(_cells(row)) for row in mine]
        lines.append("")
    lines.append("A star marks kinds that constants were chosen on, with other games.")
    lines += [f"{'yes' if claim.holds else 'NO ':4} {claim.text}: {claim.measured}" for claim in bar]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: FamilyRow) -> list[str]:
    return [
        f"{row.kind}{'*' if row.tuned else ''}",
        row.arm,
        f"{row.rollouts.value:.0f}",
        str(row.error),
        _mean(row.own_error),
        f"{row.spearman.value:.2f}",
        str(row.slope),
        _mean(row.covered),
        "" if row.covered_matter is None else f"{row.covered_matter:.2f}",
        _mean(row.covered_new),
        "" if row.half_width is None else f"{100 * row.half_width:.1f}",
        "" if row.decided is None else f"{row.decided:.0%}",
        "" if row.false is None else f"{row.false:.1%}",
    ]


def _mean(mean: Mean | None) -> str:
    return "" if mean is None else str(mean)
