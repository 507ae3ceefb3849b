"""`skillsv bench estimators`: what each estimator recovers of known values, rollout for rollout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    games: Annotated[int, Parameter(help="Games of each shape (or kind) and noise.")] = 5,
    noise: Annotated[str, Parameter(help="Kinds of noise, comma separated: T=0,T=.25,T=.5,T=1.5,lapse.")] = "all",
    quick: Annotated[bool, Parameter(help="A short version: two kinds of noise, one game each.", negative="")] = False,
    kinds: Annotated[
        str | None,
        Parameter(
            help="Play these kinds of games instead of the four published shapes, comma separated, or `all`: sparse, "
            "dense, interacting, harmful, position, graded, mixed. Noise: T=0,T=.25,T=.5,lapse,mix,brittle."
        ),
    ] = None,
    budgets: Annotated[str, Parameter(help="With --kinds: rollouts to compare at.")] = "200,400,800,1600",
    peers: Annotated[
        bool, Parameter(help="With --kinds: other packages' estimators, too, where they are installed.")
    ] = True,
    jobs: Annotated[int, Parameter(name=["--jobs", "-j"], help="With --kinds: games to play at the same time.")] = 2,
    figure: Annotated[Path | None, Parameter(help="Write an SVG figure to this file.")] = None,
    json: Json = False,
) -> int:
    """skillsv bench estimators --games 5 --figure estimators.svg

    Compare the adaptive estimator with Algorithm 1, Closure-LOO and a constant on planted games whose true values are
    known: error over the spread of the values (1 is what the constant scores), rank correlation, coverage of 95 %
    intervals, false decisions, and rollouts at equal quality, with standard errors over games. The games come from
    seeds that no constant was chosen on. Minutes; `--quick` for a first look. With `--kinds` the games are of seven
    other kinds, and coverage is also shown for units above 1 point and on new tasks; a cell takes seconds:
    `skillsv bench estimators --kinds sparse,harmful --noise T=0 --games 2`.
    """
    if kinds is not None:
        return _families(
            kinds, noise=noise, games=games, budgets=budgets, peers=peers, jobs=jobs, json=json, quick=quick
        )
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
    return _names(noise, known, "noise")


def _families(
    kinds: str, *, noise: str, games: int, budgets: str, peers: bool, jobs: int, json: bool, quick: bool
) -> int:
    """Play kinds of games, and print rows and the bar."""
    from skillsv_bench.estimators.family_study import FamilyChoice, compare_families
    from skillsv_bench.estimators.family_summary import family_claims, family_table
    from skillsv_bench.estimators.family_text import family_text
    from skillsv_bench.estimators.peers import installed_peers
    from skillsv_bench.families import KINDS, NOISES

    choice = FamilyChoice(
        kinds=_names(kinds, KINDS, "kind of game"),
        noises=_chosen(noise, list(NOISES), quick=quick),
        games=1 if quick else _positive("--games", games),
        budgets=_numbers(budgets),
        peers=installed_peers() if peers else (),
        jobs=_positive("--jobs", jobs),
    )
    comparisons = compare_families(choice, tell=_tell)
    rows, bar = family_table(comparisons), family_claims(comparisons, choice.budgets)
    if json:
        content = {"schema": SCHEMA, "rows": [asdict(row) for row in rows], "claims": [asdict(line) for line in bar]}
        deliver(json_text(content), None)
    else:
        deliver(family_text(rows, bar), None)
    return 0


def _names(text: str, known: Sequence[str], what: str) -> list[str]:
    if text == "all":
        return list(known)
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SettingsError(f"there is no {what} {unknown[0]!r}.", hint=f"Choose from {', '.join(known)}.")
    return names


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise SettingsError(f"--budgets {text} is no list of rollouts.", hint="Give numbers as in 200,400,800.")
    return sorted({int(part) for part in parts})


def _positive(flag: str, number: int) -> int:
    if number < 1:
        raise SettingsError(f"{flag} {number} is too few.", hint="Give at least 1.")
    return number


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
