"""Tables and figures that need no agent: studies on planted games, and the compiler's rules. They cost nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillsv.extend.estimators import RULES
from skillsv.extend.figures import area_chart
from skillsv.model.value import Interval
from skillsv_bench.figures import MethodColumn, methods_figure
from skillsv_bench.paper.artifacts import Artifact, ArtifactSet, rows_table
from skillsv_bench.paper.drawings import line_chart
from skillsv_bench.planted import areas, planted_skill, rules_study, studies, truncation
from skillsv_bench.planted.game import TARGETS
from skillsv_bench.planted.studies import Recovery, Setting
from skillsv_bench.tables import Table

PAPER = Setting(chains=12, window=8, tolerance=0.05)
"""The paper's K, b and tau."""

KINDS = tuple(TARGETS)
"""The games that are shaped like the paper's four skills."""

SHARED_NOTE = (
    "Planted games stand for the paper's skills: made-up text of the same shape and a rule-following agent whose true "
    "values are known. Their amounts are not those of the paper's skills."
)
"""The note on every planted table."""

_SCRIPTED = "No model judges: the scripted judge prefers long units."
"""The difference of every table with a judge."""

_CALIBRATION_RUNS = 20
"""Runs behind one row of the calibration and of the truncation control."""

_VARIANCE_CHAINS = 400
"""Chains behind one point of the variance figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedOptions:
    """How many games of each kind (at least two), and the first seed."""

    games: int = 5
    seed: int = 0

    @property
    def seeds(self) -> range:
        """The seeds of the games."""
        return range(self.seed, self.seed + self.games)

    def command(self, study: str, kinds: Sequence[str] = KINDS, repetitions: int | None = None) -> str:
        """The command that prints the same study; without `repetitions`, they are the games."""
        count = self.games if repetitions is None else repetitions
        games = "" if study == "rules" else f" --games {','.join(kinds)}"
        setting = f"-k {PAPER.chains} -b {PAPER.window} --tolerance {PAPER.tolerance}"
        return f"`skillsv bench planted --study {study}{games} {setting} --repetitions {count} --seed {self.seed}`"


def planted_artifacts(options: PlantedOptions) -> ArtifactSet:
    """All of them."""
    return ArtifactSet(
        artifacts=(
            _mechanism(options),
            *_pruning(options),
            _rules(),
            _rule_ablation(options),
            _variance(options),
            _calibration(options),
            _truncation(options),
        ),
        notes=(SHARED_NOTE,),
    )


def _mechanism(options: PlantedOptions) -> Artifact:
    run = studies.recover(planted_skill("mechanism", options.seed), PAPER, options.seed)
    judge = areas.scripted_judge(run.game.compiled)
    rows = [_mechanism_row(run, place, judge.values) for place in range(len(run.estimate.units))]
    scores = ("true", "skillsv", "low", "high", "closure-loo")
    columns = ("unit", "role", *scores, "judge (scripted)", "random")
    title = "Planted OR and AND units: true and recovered values"
    figure = methods_figure(
        [(row[0], f"{row[1]}: {row[0]}") for row in rows],
        [
            MethodColumn(title="True value", values={row[0]: Interval(row[2], row[2], row[2]) for row in rows}),
            *(MethodColumn(title=ranking.method, values=ranking.values) for ranking in (*run.rankings, judge)),
        ],
        name="figure-4-mechanism",
        title=title,
        note="Points of score; judge and random have scales of their own.",
    )
    return Artifact(
        name="figure-4-mechanism",
        place="Figure 4a",
        title=title,
        source=options.command("recovery", ("mechanism",)),
        table=Table(name="figure-4-mechanism", title=title, columns=columns, rows=tuple(rows), points=scores),
        svg=str(figure.svg),
        differences=(_SCRIPTED, "Values are those of deletion: a planted agent does not notice padding."),
    )


def _mechanism_row(run: Recovery, place: int, judged: Mapping[str, Interval]) -> tuple[Any, ...]:
    unit = run.estimate.units[place]
    by_method = {ranking.method: ranking.values[unit.id].value for ranking in run.rankings}
    recovered = (unit.net.value, unit.on_panel.low, unit.on_panel.high, by_method["closure-loo"])
    return (
        unit.id,
        str(run.role(unit.id)),
        float(run.truth[place]),
        *recovered,
        judged[unit.id].value,
        by_method["random"],
    )


def _pruning(options: PlantedOptions) -> tuple[Artifact, Artifact]:
    found = {kind: areas.study_areas(kind, PAPER, games=options.seeds) for kind in KINDS}
    summaries = {kind: areas.summarize_areas(games) for kind, games in found.items()}
    pairs = areas.compare_areas([game for games in found.values() for game in games])
    rows = [
        (f"{kind}: {row.method}", Interval(row.area, row.low, row.high))
        for kind, some in summaries.items()
        for row in some
    ]
    source = options.command("pruning")
    note = "On new tasks, with 95 % intervals."
    title = "Areas under the pruning curves on planted games"
    chart = area_chart(rows, name="figure-5-planted-areas", title=title, note=note)
    area_columns = ("area", "low", "high")
    area_table = Table(
        name=chart.name,
        title=title,
        columns=("game", "method", *area_columns, "games"),
        rows=tuple(
            (kind, row.method, row.area, row.low, row.high, row.games)
            for kind, some in summaries.items()
            for row in some
        ),
        points=area_columns,
    )
    pooled_title = f"Differences of areas, pooled over {sum(map(len, found.values()))} planted games"
    pooled_rows = [
        (f"{pair.method} − {pair.against}", Interval(pair.difference, pair.low, pair.high)) for pair in pairs
    ]
    pooled = area_chart(pooled_rows, name="figure-5-planted-pooled", title=pooled_title, note=note, signed=True)
    return (
        Artifact(
            name=chart.name,
            place="Figure 5",
            title=title,
            source=source,
            table=area_table,
            svg=str(chart.svg),
            differences=(_SCRIPTED,),
        ),
        Artifact(
            name=pooled.name,
            place="Figure 5",
            title=pooled_title,
            source=source,
            table=rows_table(pooled.name, pooled_title, pairs, ("difference", "low", "high")),
            svg=str(pooled.svg),
            differences=(_SCRIPTED, "p is by the paired bootstrap over tasks, corrected by Holm over all pairs."),
        ),
    )


def _rules() -> Artifact:
    rows = tuple((rule.id, rule.name, "yes" if rule.heuristic else "no") for rule in RULES)
    title = "Dependency rules of the compiler"
    return Artifact(
        name="table-5-rules",
        place="Table 5",
        title=title,
        source="the compiler's own table",
        table=Table(name="table-5-rules", title=title, columns=("rule", "name", "heuristic"), rows=rows),
    )


def _rule_ablation(options: PlantedOptions) -> Artifact:
    title = "Ablation of the heuristic rules on the planted rule game"
    rows = rules_study.study_rules(PAPER, games=options.seeds)
    return Artifact(
        name="table-5-rule-ablation",
        place="Table 5, footnote",
        title=title,
        source=options.command("rules"),
        table=rows_table("table-5-rule-ablation", title, rows, rules_study.SCORE_COLUMNS),
        differences=("The paper names the ablation and prints no numbers.",),
    )


def _variance(options: PlantedOptions) -> Artifact:
    game = planted_skill("livemath", options.seed)
    sizes = sorted({size for size in (1, 2, 4, 8, 16, 32) if size < len(game.tasks)} | {len(game.tasks)})
    rows = studies.variance_by_window(game, PAPER.noise, windows=sizes, chains=_VARIANCE_CHAINS, seed=options.seed)
    title = "Variance of one marginal by the size of the task window"
    lines = {
        "same tasks on both sides": [(float(row.window), row.paired) for row in rows],
        "independent tasks": [(float(row.window), row.unpaired) for row in rows],
    }
    figure = line_chart("figure-10-variance", title, lines, across="window size b", up="variance")
    return Artifact(
        name=figure.name,
        place="Figure 10",
        title=title,
        source=f"`skillsv bench planted --study variance --games livemath --seed {options.seed}`",
        table=rows_table(figure.name, title, rows, ()),
        svg=str(figure.svg),
        differences=("Measured on the planted livemath game.",),
    )


def _calibration(options: PlantedOptions) -> Artifact:
    title = "Calibration of window size and tolerance"
    rows = studies.calibrate(
        lambda seed: planted_skill("livemath", seed),
        PAPER.noise,
        windows=(4, 8, 16),
        tolerances=(None, 0.0, 0.05, 0.15),
        games=(options.seed,),
        repetitions=_CALIBRATION_RUNS,
        chains=PAPER.chains,
    )
    return Artifact(
        name="appendix-calibration",
        place="Appendix, estimator calibration",
        title=title,
        source=options.command("calibration", ("livemath",), _CALIBRATION_RUNS),
        table=rows_table("appendix-calibration", title, rows, ()),
        differences=("The paper names the calibration and prints no numbers.",),
    )


def _truncation(options: PlantedOptions) -> Artifact:
    title = "Truncation against an untruncated control, the same chains"
    found: list[tuple[str, truncation.TruncationControl]] = []
    for kind in KINDS:
        game = planted_skill(kind, options.seed)
        rows = truncation.study_truncation(game, PAPER, repetitions=_CALIBRATION_RUNS, seed=options.seed)
        found += [(kind, row) for row in rows]
    table = rows_table("appendix-truncation", title, [row for _, row in found], truncation.SCORE_COLUMNS)
    rows_by_game = tuple((kind, *row) for (kind, _), row in zip(found, table.rows, strict=True))
    named = replace(table, columns=("game", *table.columns), rows=rows_by_game)
    return Artifact(
        name="appendix-truncation",
        place="Appendix, calibrating truncation",
        title=title,
        source=options.command("truncation", KINDS, _CALIBRATION_RUNS),
        table=named,
        differences=("The column true_beyond is the share of chains whose true sum on the whole panel exceeds tau.",),
    )
