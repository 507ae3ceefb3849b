"""`skillsv bench planted`: games with known answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from skillsv.errors import SettingsError
from skillsv.extend.commands import Json, deliver, json_text

if TYPE_CHECKING:
    from skillsv_bench.planted import PlantedGame
    from skillsv_bench.planted.studies import Recovery, Setting

SCHEMA = "skillsv.bench.planted/1"
Study = Literal["recovery", "coverage", "variance", "calibration", "closure", "truncation", "pruning", "rules"]

DEFAULT_GAME = "mechanism"
"""The game of a study where none is named; closure takes all games."""

DEFAULT_AGENT = "rules"
"""The agent of a study where none is named."""

CLOSURE_POINTS = ("gap", "gap_low", "gap_high", "lift", "lift_spread")
"""Amounts of score in the rows of the closure study."""

CLOSURE_AGENTS = "rules,noisy@0.5"
"""The agents of the closure study where none is named."""


def planted(
    *,
    games: Annotated[
        str | None,
        Parameter(
            help="Games, comma separated: mechanism (default),livemath,officeqa,spreadsheet,alfworld; "
            "closure takes all of them."
        ),
    ] = None,
    study: Annotated[Study, Parameter(help="What to measure.")] = "recovery",
    agent: Annotated[
        str | None,
        Parameter(
            help="rules (default), noisy@TEMPERATURE or lapse@PROBABILITY; closure takes several, comma separated, and "
            "rules,noisy@0.5 by default."
        ),
    ] = None,
    orders: Annotated[int, Parameter(name=["--orders", "-k"], help="Sampled insertion orders K.")] = 48,
    window: Annotated[int, Parameter(name=["--window", "-b"], help="Tasks shared by one order, b.")] = 8,
    tolerance: Annotated[str, Parameter(help="Truncation tolerance tau, or 'off'; the paper's is 0.05.")] = "off",
    repetitions: Annotated[int, Parameter(help="Repetitions of a study; recovery shows the first in full.")] = 20,
    seed: Annotated[int, Parameter(help="Seed of games, orders, windows and noise.")] = 0,
    json: Json = False,
) -> int:
    """skillsv bench planted --games mechanism,spreadsheet --agent noisy@0.5

    Value skills whose true values are known, and print what SkillSV, Closure-LOO and chance recover of them.
    `--study coverage` measures how often the intervals hold the true value, `variance` what sharing task windows
    saves, `calibration` how window size and tolerance trade error against rollouts, `closure` how the sum of values
    compares with the measured lift of the panel for Algorithm 1 (`chain`) and `auto`, `truncation` what the omitted
    suffixes of the same chains are worth, `pruning` the areas under the pruning curves of all methods, pooled, and
    `rules` what R3, R8 and R9 are worth, on a game of its own.
    """
    if repetitions < 2:
        raise SettingsError(f"--repetitions {repetitions} cannot show any spread.", hint="Give at least 2.")
    if seed < 0:
        raise SettingsError(f"--seed {seed} is negative.", hint="Give a number of at least 0.")
    if study == "closure":
        settings = [_setting(name.strip(), orders, window, tolerance) for name in (agent or CLOSURE_AGENTS).split(",")]
        return _closure(
            [name.strip() for name in games.split(",")] if games else None, settings, repetitions, seed, json
        )
    agent, games = agent or DEFAULT_AGENT, games or DEFAULT_GAME
    setting = _setting(agent, orders, window, tolerance)
    tables = _tables([name.strip() for name in games.split(",")], study, setting, repetitions, seed)
    if json:
        deliver(json_text({"schema": SCHEMA, "study": study, "agent": agent, "games": tables}), None)
    else:
        deliver("\n".join(_as_text(table) for table in tables), None)
    return 0


def _closure(
    games: Sequence[str] | None,
    settings: Sequence[Setting],
    repetitions: int,
    seed: int,
    json: bool,  # noqa: FBT001
) -> int:
    """Print the closure study: a row per game, agent and method, then which of them miss the band."""
    from skillsv_bench.estimators.closure import BAND, measure_closure, summarize
    from skillsv_bench.planted import KINDS

    made = [_make_game(name, seed, settings[0]) for name in games or KINDS]
    rows = [
        (game.name, row) for game in made for row in measure_closure(game, settings, repetitions=repetitions, seed=seed)
    ]
    plain, summary = [{"game": name, **asdict(row)} for name, row in rows], summarize(rows)
    if json:
        deliver(
            json_text({"schema": SCHEMA, "study": "closure", "band": BAND, "rows": plain, "summary": summary}), None
        )
    else:
        title = "sum of values over the measured lift, 95 % t interval over repetitions; gap and lift in points"
        shown = [{**row, **{name: 100 * row[name] for name in CLOSURE_POINTS}} for row in plain]
        deliver("\n".join([title, _columns(shown), summary]), None)
    return 0


def _make_game(name: str, seed: int, setting: Setting) -> PlantedGame:
    from skillsv_bench.planted import planted_skill, study_tables

    game = planted_skill(name, seed)
    study_tables.require_window(name, len(game.tasks), setting)
    return game


def _setting(agent: str, orders: int, window: int, tolerance: str) -> Setting:
    from skillsv.extend.estimators import PlantedAgent, make_planted
    from skillsv_bench.planted import Noise
    from skillsv_bench.planted.studies import Setting

    if orders < 2 or window < 1:
        raise SettingsError("a study needs at least two orders and a window of one task.", hint="Try -k 12 -b 8.")
    played = make_planted(agent)
    assert isinstance(played, PlantedAgent)
    noise = Noise(temperature=played.temperature, lapse=played.lapse)
    return Setting(chains=orders, window=window, tolerance=_tolerance(tolerance), noise=noise)


def _tolerance(text: str) -> float | None:
    if text == "off":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SettingsError(f"--tolerance {text} is neither 'off' nor between 0 and 1.", hint="0.05 is the paper's.")
    return value


def _tables(names: Sequence[str], study: Study, setting: Setting, repetitions: int, seed: int) -> list[dict[str, Any]]:
    """The tables of a study: one for each game, and those over all games where the study has some."""
    from skillsv_bench.planted import study_tables

    seeds = range(seed, seed + repetitions)
    if study == "rules":
        return [study_tables.rules_table(setting, seeds)]
    if study == "pruning":
        return study_tables.pruning_tables(names, setting, seeds)
    return [_table(name, study, setting, repetitions, seed) for name in names]


def _table(name: str, study: Study, setting: Setting, repetitions: int, seed: int) -> dict[str, Any]:
    """One game's rows: a title, column names and plain rows, whatever the study."""
    from skillsv_bench.planted import study_tables

    game = _make_game(name, seed, setting)
    title = f"{name}: {len(game.compiled.execution)} units, {len(game.tasks)} tasks"
    if study == "truncation":
        return study_tables.truncation_table(game, setting, repetitions, seed)
    if study == "recovery":
        return {"game": name, "title": title, **_recovery(game, setting, repetitions, seed)}
    return {"game": name, "title": title, "rows": _study(game, study, setting, repetitions, seed)}


def _study(game: PlantedGame, study: Study, setting: Setting, repetitions: int, seed: int) -> list[dict[str, Any]]:
    from skillsv_bench.planted import planted_skill, studies

    if study == "coverage":
        chains = sorted({12, 24, setting.chains})
        found: Sequence[Any] = studies.coverage(
            game.name, setting, games=(seed,), repetitions=repetitions, chains=chains
        )
    elif study == "variance":
        sizes = sorted({size for size in (1, 2, 4, 8, 16, 32) if size < len(game.tasks)} | {len(game.tasks)})
        chains_each = 20 * repetitions
        found = studies.variance_by_window(game, setting.noise, windows=sizes, chains=chains_each, seed=seed)
    else:
        found = studies.calibrate(
            lambda number: planted_skill(game.name, number),
            setting.noise,
            windows=(4, 8, 16),
            tolerances=(None, 0.0, 0.05, 0.15),
            games=(seed,),
            repetitions=repetitions,
            chains=setting.chains,
        )
    return [asdict(row) for row in found]


def _recovery(game: PlantedGame, setting: Setting, repetitions: int, seed: int) -> dict[str, Any]:
    """True values beside recovered ones for the first repetition, and each method's scores over all of them."""
    from skillsv_bench.planted import studies

    runs = [studies.recover(game, setting, seed + number) for number in range(repetitions)]
    scores: dict[str, list[studies.MethodScore]] = {}
    for run in runs:
        for score in studies.score_methods(run):
            scores.setdefault(score.method, []).append(score)
    return {"rows": _unit_rows(runs[0]), "methods": [_method_row(name, rows) for name, rows in scores.items()]}


def _unit_rows(run: Recovery) -> list[dict[str, Any]]:
    rows = []
    for place, unit in enumerate(run.estimate.units):
        values = {ranking.method: ranking.values[unit.id].value for ranking in run.rankings}
        rows.append(
            {
                "unit": unit.id,
                "role": str(run.role(unit.id)),
                "true": float(run.truth[place]),
                **values,
                "low": unit.on_panel.low,
                "high": unit.on_panel.high,
                "evidence": str(unit.evidence),
            }
        )
    return rows


def _method_row(name: str, rows: Sequence[Any]) -> dict[str, Any]:
    """Means over repetitions. Random numbers have no scale, so they have a rank correlation only."""
    ranks = sum(row.spearman for row in rows) / len(rows)
    if name == "random":
        return {"method": name, "spearman": ranks, "rmse_over_sd": None, "sum_over_lift": None}
    sums = [row.sum_over_lift for row in rows if row.sum_over_lift is not None]
    return {
        "method": name,
        "spearman": ranks,
        "rmse_over_sd": sum(row.rmse_over_sd for row in rows) / len(rows),
        "sum_over_lift": sum(sums) / len(sums) if sums else None,
    }


def _as_text(table: dict[str, Any]) -> str:
    if "points" in table:
        rows = [_in_points(row, table["points"]) for row in table["rows"]]
        return "\n".join([f"{table['title']}; {', '.join(table['points'])} in points", _columns(rows)])
    if "methods" not in table:
        return "\n".join([table["title"], _columns(table["rows"])])
    title = f"{table['title']}; values in points, random ones without scale"
    return "\n".join([title, _columns([_in_points(row) for row in table["rows"]]), _columns(table["methods"])])


def _in_points(row: dict[str, Any], names: Collection[str] | None = None) -> dict[str, Any]:
    """A row with its amounts of score in points of a hundred: the `names`, or all but random numbers."""
    scored = frozenset(row) - {"random"} if names is None else names
    return {name: 100 * value if isinstance(value, float) and name in scored else value for name, value in row.items()}


def _columns(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as aligned columns: names to the left, numbers to the right."""
    names = list(rows[0])
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    left = [isinstance(rows[0][name], str) for name in names]
    lines = (
        "  ".join(
            text.ljust(width) if is_text else text.rjust(width)
            for text, width, is_text in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in cells
    )
    return "".join(f"  {line}\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
