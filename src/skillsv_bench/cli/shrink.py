"""`skillsv bench shrink`: how much of a skill is removed and proven, for a budget of rollouts."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.errors import SettingsError
from skillsv.extend.commands import Json, deliver, json_text

if TYPE_CHECKING:
    from skillsv_bench.shrinking.summary import Claim, Row

SCHEMA = "skillsv.bench.shrink/1"


def shrink(
    *,
    games: Annotated[int, Parameter(help="Games with a noisy agent; half as many for each of the other studies.")] = 35,
    budgets: Annotated[str, Parameter(help="Budgets in rollouts, comma separated.")] = "400,800,1600",
    max_drop: Annotated[float, Parameter(help="Points that a proof must rule out.")] = 5,
    quick: Annotated[bool, Parameter(help="A short version: seven games at 400 rollouts.", negative="")] = False,
    json: Json = False,
) -> int:
    """skillsv bench shrink --games 35

    Play 'skillsv shrink' on games with known values: seven kinds, five kinds of noise, 60 tasks for values and 150 held
    out. It prints the share of all tokens that is removed and proven, beside a random quarter and an oracle that knows
    all useless units; how often sets pass that really lose too much on new tasks; and the forecast of the power.
    Proofs are tried whatever power the plan forecasts. The seeds are not those that constants were chosen on. Minutes.
    """
    from skillsv.extend.shrinking import Gate
    from skillsv_bench.shrinking.study import NOISY, STEADY, run_study, tables
    from skillsv_bench.shrinking.summary import SAME_TASKS_BAR, STEADY_BAR, claims, rows_of

    if games < 1:
        raise SettingsError(f"--games {games} plays nothing.", hint="Give at least 1.")
    sizes = [400] if quick else _budgets(budgets)
    count, gate = (7 if quick else games), Gate(max_drop=max_drop / 100)
    noisy = run_study(tables(count, NOISY), sizes, gate=gate, tell=_tell)
    rows, trials = rows_of("noisy", noisy), noisy
    if not quick:
        few = (games + 1) // 2
        same = run_study(tables(few, NOISY, panel_b=0), [SAME_TASKS_BAR[0]], gate=gate, same_tasks=True, tell=_tell)
        steady = run_study(tables(few, STEADY), [STEADY_BAR[0]], gate=gate, tell=_tell)
        rows += [*rows_of("same tasks", same), *rows_of("steady", steady)]
        trials = [*noisy, *steady]
    found = claims(rows, trials, max_drop=gate.max_drop)
    if json:
        content = {"schema": SCHEMA, "rows": [asdict(row) for row in rows], "claims": [asdict(one) for one in found]}
        deliver(json_text(content), None)
    else:
        deliver(_text(rows, found), None)
    return 0


def _budgets(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise SettingsError(f"--budgets {text} is no list of numbers.", hint="Give 400,800,1600.") from None


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _text(rows: list[Row], found: list[Claim]) -> str:
    layout = "{:12}{:10}{:>10}{:>7}{:>16}{:>9}{:>10}"
    lines = [layout.format("study", "arm", "rollouts", "games", "proven tokens", "passed", "forecast")]
    for row in rows:
        forecast = "" if row.forecast is None else f"{row.forecast:.2f}"
        proven = f"{row.proven:.3f} ± {row.error:.3f}"
        lines.append(layout.format(row.study, row.arm, row.rollouts, row.games, proven, f"{row.passed:.2f}", forecast))
    lines.append("")
    lines += [f"{'yes' if one.holds else 'NO ':4} {one.text}: {one.measured}" for one in found]
    return "\n".join(lines) + "\n"
