"""`skillsv bench estimators`: what each estimator recovers of known values, rollout for rollout."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.errors import OutputError, SettingsError
from skillsv.extend.commands import Json, deliver, json_text

if TYPE_CHECKING:
    from skillsv_bench.estimators.summary import Claim, Row

SCHEMA = "skillsv.bench.estimators/1"


def estimators(
    *,
    games: Annotated[int, Parameter(help="Games of each shape and kind of noise.")] = 5,
    noise: Annotated[str, Parameter(help="Kinds of noise, comma separated: T=0,T=.25,T=.5,T=1.5,lapse.")] = "all",
    quick: Annotated[bool, Parameter(help="A short version: two kinds of noise, one game each.", negative="")] = False,
    figure: Annotated[Path | None, Parameter(help="Write an SVG figure to this file.")] = None,
    json: Json = False,
) -> int:
    """skillsv bench estimators --games 5 --figure estimators.svg

    Compare the adaptive estimator with Algorithm 1, Closure-LOO and a constant on planted games whose true values are
    known: error over the spread of the values (1 is what the constant scores), rank correlation, coverage of 95 %
    intervals, false decisions, and rollouts at equal quality, with standard errors over games. The games come from
    seeds that no constant was chosen on. Minutes; `--quick` for a first look.
    """
    from skillsv_bench.estimators import study, summary
    from skillsv_bench.estimators.summary import draw

    chosen = _chosen(noise, list(study.NOISES), quick=quick)
    if games < 1:
        raise SettingsError(f"--games {games} compares nothing.", hint="Give at least 1.")
    count = 1 if quick else games
    comparisons = study.compare(count, noises=chosen, tell=_tell)
    rows = summary.table(comparisons)
    bar = summary.claims(comparisons, study.BUDGETS, study.late_noise(count), study.operator_ratio(count))
    if figure is not None:
        _write(figure, draw(rows))
    if json:
        content = {"schema": SCHEMA, "rows": [asdict(row) for row in rows], "claims": [asdict(line) for line in bar]}
        deliver(json_text(content), None)
    else:
        deliver(_text(rows, bar), None)
    return 0


def _chosen(noise: str, known: list[str], *, quick: bool) -> list[str]:
    if noise == "all":
        return ["T=0", "T=.5"] if quick else known
    names = [name.strip() for name in noise.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingsError(f"there is no noise {unknown[0]!r}.", hint=f"Choose from {', '.join(known)}.")
    return names


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _write(path: Path, svg: str) -> None:
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the figure cannot be written ({error.strerror}).", where=str(path)) from error


def _text(rows: list[Row], bar: list[Claim]) -> str:
    head = ("method", "rollouts", "rmse/sd", "Spearman", "covered", "bootstrap", "decided", "false")
    layout = "{:32}{:>10}{:>13}{:>13}{:>13}{:>13}{:>9}{:>8}"
    lines = []
    for noise in dict.fromkeys(row.noise for row in rows):
        mine = [row for row in rows if row.noise == noise]
        lines += [f"{noise}, {mine[0].games} games", layout.format(*head)]
        lines += [layout.format(*_cells(row)) for row in mine]
        lines.append("")
    lines += [f"{'yes' if line.holds else 'NO ':4} {line.text}: {line.measured}" for line in bar]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.1%}"

    return (
        row.arm,
        f"{row.rollouts.value:.0f}",
        str(row.error),
        str(row.spearman),
        str(row.covered or ""),
        str(row.plain or ""),
        share(row.decided),
        share(row.false),
    )
