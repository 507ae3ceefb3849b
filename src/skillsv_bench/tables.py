"""The paper's tables and figures, from the results of one or several benchmarks."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillsv import Valuation
from skillsv.errors import SettingsError
from skillsv.extend.comparison import Comparison
from skillsv.extend.figures import Figure, area_chart, pruning_chart
from skillsv_bench.agreement import pool_agreements
from skillsv_bench.figures import agreement_figure, concentration_figure, values_by_method_figure
from skillsv_bench.protocol import BenchmarkResult
from skillsv_bench.results import Results

Cell = str | int | float | None
"""The content of one table cell; None is an empty cell."""

_PANEL_B_NOTE = "On tasks that no value has seen, with 95 % intervals."
"""The note under every figure of scores on panel B."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns. `name` is the file name for saving.

    `points` names the columns that hold amounts of score. The rows keep them as shares, as JSON does; Markdown and CSV
    show them in points of a hundred and say so in the heading.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    points: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as Markdown, numbers rounded for reading."""
        lines = [f"### {self.title}", "", _line(self._headings()), _line("---" for _ in self.columns)]
        lines += [_line(self._shown(row)) for row in self.rows]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """The table as CSV, numbers in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self._headings())
        writer.writerows(["" if cell is None else cell for _, cell in self._scaled(row)] for row in self.rows)
        return text.getvalue()

    def _headings(self) -> list[str]:
        return [f"{name} (points)" if name in self.points else name for name in self.columns]

    def _scaled(self, row: Sequence[Cell]) -> Iterator[tuple[str, Cell]]:
        """The cells with the names of their columns, amounts of score in points."""
        for name, cell in zip(self.columns, row, strict=True):
            yield name, round(100.0 * cell, 10) if name in self.points and isinstance(cell, int | float) else cell

    def _shown(self, row: Sequence[Cell]) -> Iterator[str]:
        for name, cell in self._scaled(row):
            if isinstance(cell, float):
                yield f"{cell:.{1 if name in self.points else 3}f}"
            else:
                yield "–" if cell is None else str(cell).replace("\n", " ")


def _line(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def make_tables(all_results: Sequence[Results]) -> tuple[Table, ...]:
    """Make all tables for which these results have rows."""
    makers = (
        *(anchors_table, closure_table, pruning_table, refinement_table),
        *(selection_table, selected_table, second_metric_table, agreement_table, concentration_table),
    )
    return tuple(table for make in makers if (table := make(all_results)).rows)


def anchors_table(all_results: Sequence[Results]) -> Table:
    """Score anchors on panel A: no skill, trigger alone, whole skill, and both lifts."""
    scores = ("V(none)", "V(m)", "V(N)", "total lift", "low", "high", "content lift")
    columns = ("benchmark", "max turns", *scores)
    rows = []
    for result in all_results:
        scores_json = result["valuation"]["anchors"]
        values = (scores_json[name]["value"] for name in ("empty", "trigger", "full"))
        lift = result["valuation"]["content_lift"]["value"]
        rows.append((result["title"], result["turns"], *values, *_interval(result["total_lift"]), lift))
    return Table(name="anchors", title="Score anchors on panel A", columns=columns, rows=tuple(rows), points=scores)


def closure_table(all_results: Sequence[Results]) -> Table:
    """The sums of SkillSV's and of Closure-LOO's values beside the lift, Lambda."""
    lift, own, loo = ("lift", "low", "high"), ("sum phi", "low", "high"), ("sum LOO", "low", "high")
    columns = ("benchmark", "units", "tasks", *lift, *own, "ratio", "covers", *loo, "LOO ratio", "LOO covers")
    rows = []
    for result in all_results:
        closure, loo_closure = result["valuation"]["closure"], result["closure_loo"]
        size = (result["skill"]["execution_units"], result["panels"]["a"])
        skillsv = (
            *_interval(closure["lift"]),
            *_interval(closure["sum"]),
            closure["ratio"],
            _mark(yes=closure["covered"]),
        )
        leave_out = (*_interval(loo_closure["sum"]), loo_closure["ratio"], _mark(yes=loo_closure["covered"]))
        rows.append((result["title"], *size, *skillsv, *leave_out))
    return Table(name="closure", title="Value closure", columns=columns, rows=tuple(rows), points=(*lift, *own, *loo))


def pruning_table(all_results: Sequence[Results]) -> Table:
    """The area under each method's pruning curve on panel B."""
    rows = [
        (result["title"], curve["method"], *_interval(curve["auc"]))
        for result in all_results
        for curve in result["held_out"]["curves"]
    ]
    area = ("AUC", "low", "high")
    columns = ("benchmark", "method", *area)
    return Table(name="pruning", title="Pruning on panel B", columns=columns, rows=tuple(rows), points=area)


def refinement_table(all_results: Sequence[Results]) -> Table:
    """Old against rewritten skill on panel B, and the mean over benchmarks where there are several."""
    return _comparison_table(all_results, "refinement", "Refinement, proved on panel B")


def selected_table(all_results: Sequence[Results]) -> Table:
    """The original against the version that was selected on the validation split, on panel B."""
    return _comparison_table(all_results, "selection", "Selected version, on panel B", name="selected")


def _comparison_table(all_results: Sequence[Results], field: str, title: str, *, name: str | None = None) -> Table:
    """One row for each result whose `field` holds a comparison on panel B, and their mean where there are several."""
    scores = ("V(old)", "V(new)", "change", "low", "high")
    columns = ("benchmark", "tasks", "token share", *scores)
    rows: list[tuple[Cell, ...]] = []
    for result in all_results:
        confirmation = (result.get(field) or {}).get("confirmation")
        if confirmation is None:
            continue
        old, new = confirmation["old"]["value"], confirmation["new"]["value"]
        size = (confirmation["tasks"], confirmation["token_share"])
        rows.append((result["title"], *size, old, new, *_interval(confirmation["delta"])))
    if len(rows) > 1:
        shares, changes = ([float(str(row[place])) for row in rows] for place in (2, 5))
        rows.append(("mean", None, sum(shares) / len(rows), None, None, sum(changes) / len(rows), None, None))
    return Table(name=name or field, title=title, columns=columns, rows=tuple(rows), points=scores)


def selection_table(all_results: Sequence[Results]) -> Table:
    """The scores on the validation split of whole skills and of versions of the valued skill, and which was chosen."""
    score = ("score", "low", "high")
    columns = ("benchmark", "chosen from", "version", "tasks", "tokens", *score, "chosen")
    rows = [
        (
            *(result["title"], origin, version["name"], selection["tasks"], version["tokens"]),
            *_interval(version["score"]),
            _mark(yes=version["name"] == selection["chosen"]),
        )
        for result in all_results
        for field, origin in (("skill_selection", "skills"), ("selection", "versions"))
        if (selection := result.get(field))
        for version in selection["versions"]
    ]
    title = "Selection on the validation split"
    return Table(name="selection", title=title, columns=columns, rows=tuple(rows), points=score)


def second_metric_table(all_results: Sequence[Results]) -> Table:
    """The second metric beside the score, on the tasks where both are known: on panel A and on panel B."""
    scores = ("score", "second metric", "low", "high")
    rows = [
        (
            *(result["title"], second["title"], row["panel"].upper(), row["version"], row["tasks"], row["score"]),
            *_interval(row["second"]),
        )
        for result in all_results
        if (second := result.get("second_metric"))
        for row in second["scores"]
    ]
    columns = ("benchmark", "metric", "panel", "version", "tasks", *scores)
    title = "Second metrics"
    return Table(name="second_metrics", title=title, columns=columns, rows=tuple(rows), points=scores)


def agreement_table(all_results: Sequence[Results]) -> Table:
    """Kendall's tau-b between the rankings of the methods, with Holm's correction over all pairs of all benchmarks."""
    rows = [
        (pair.benchmark, pair.first, pair.second, pair.tau, pair.p, pair.p_holm)
        for pair in pool_agreements(all_results)
    ]
    columns = ("benchmark", "first", "second", "tau-b", "p", "p (Holm)")
    return Table(name="agreement", title="Agreement of rankings", columns=columns, rows=tuple(rows))


def concentration_table(all_results: Sequence[Results]) -> Table:
    """The share of all gains that the best tenth of the units hold."""
    rows = [(result["title"], result["skill"]["execution_units"], result["concentration"]) for result in all_results]
    columns = ("benchmark", "units", "share of the best tenth")
    return Table(name="concentration", title="Concentration of value", columns=columns, rows=tuple(rows))


def units_table(results: Results) -> Table:
    """Every unit: where it is, its value split into content and cost where both operators ran, and the baselines.

    The judge's score is a number from 0 to 100 on a scale of its own.
    """
    names = ("content", "cost", "net")
    own = tuple(f"{name}{end}" for name in names for end in ("", " low", " high"))
    loo = tuple(f"Closure-LOO{end}" for end in ("", " low", " high"))
    columns = ("unit", "file", "lines", "tokens", *own, "samples", "verdict", *loo, "judge (0-100)")
    # Results of earlier versions have neither.
    left_out = results["closure_loo"].get("units", {})
    judged = (results.get("judge") or {}).get("units", {})
    rows = []
    for unit in results["valuation"]["units"]:
        place = (unit["id"], unit["file"], "-".join(map(str, unit["lines"])), unit["tokens"])
        values = [cell for name in names for cell in _interval(unit[name])]
        judge = judged.get(unit["id"])
        rows.append(
            (
                *(*place, *values, unit["samples"], unit["verdict"]),
                *_interval(left_out.get(unit["id"])),
                None if judge is None else round(100 * judge["value"], 10),
            )
        )
    return Table(name="units", title="Values of units", columns=columns, rows=tuple(rows), points=(*own, *loo))


def pooled_table(comparisons: Sequence[Comparison], skills: int) -> Table:
    """The areas of two methods compared, pooled over benchmarks."""
    rows = tuple(
        (pair.first, pair.second, pair.difference.value, pair.difference.low, pair.difference.high)
        for pair in comparisons
    )
    change = ("AUC difference", "low", "high")
    title = f"AUC differences over {skills} skills"
    return Table(name="pooled", title=title, columns=("method", "against", *change), rows=rows, points=change)


def _interval(interval: Mapping[str, float] | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if interval is None else (interval["value"], interval["low"], interval["high"])


def _mark(*, yes: bool) -> str:
    return "yes" if yes else "no"


def make_figures(result: BenchmarkResult, results: Results) -> tuple[Figure, ...]:
    """All figures of one benchmark run; `results` is its JSON document."""
    valuation, proof = result.run.valuation, result.proof.result
    curves = proof.confirmation.curves
    return (
        valuation.plot("anchors"),
        valuation.plot("bars"),
        valuation.plot("tree"),
        *_decision_map(valuation),
        pruning_chart(curves, full=proof.anchors.full, trigger=proof.anchors.trigger),
        area_chart(
            [(curve.method, curve.auc) for curve in curves], title="Area under the pruning curve", note=_PANEL_B_NOTE
        ),
        values_by_method_figure(results),
        concentration_figure([results]),
        agreement_figure(pool_agreements([results])),
    )


def _decision_map(valuation: Valuation) -> tuple[Figure, ...]:
    """Content value against context cost; nothing where only one operator was run."""
    try:
        return (valuation.plot("decision"),)
    except SettingsError:
        return ()


def make_pooled_figures(comparisons: Sequence[Comparison], all_results: Sequence[Results]) -> tuple[Figure, ...]:
    """The figures over several benchmarks."""
    return (
        pooled_figure(comparisons, len(all_results)),
        concentration_figure(all_results),
        agreement_figure(pool_agreements(all_results)),
    )


def pooled_figure(comparisons: Sequence[Comparison], skills: int) -> Figure:
    """The differences between methods, pooled."""
    rows = [(f"{pair.first} − {pair.second}", pair.difference) for pair in comparisons]
    title = f"Differences of areas over {skills} skills"
    return area_chart(rows, name="pooled", title=title, note=_PANEL_B_NOTE, signed=True)
