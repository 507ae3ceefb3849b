"""The paper's tables, from the results of one benchmark or of several: a row each, and the paper's columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillsv.benchmarks.results import Results
from skillsv.confirm import Comparison

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns. `name` is the file name for saving."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def markdown(self) -> str:
        """The table as Markdown, numbers rounded for reading."""
        lines = [f"### {self.title}", "", _line(self.columns), _line("---" for _ in self.columns)]
        lines += [_line(map(_shown, row)) for row in self.rows]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """The table as CSV, numbers in full."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return text.getvalue()


def _line(cells: Any) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _shown(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell).replace("\n", " ")


def tables(several: Sequence[Results]) -> tuple[Table, ...]:
    """All tables that these results can fill."""
    made = (anchors(several), closure(several), pruning(several), refinement(several), agreement(several))
    return tuple(table for table in made if table.rows)


def anchors(several: Sequence[Results]) -> Table:
    """Score anchors on panel A: no skill, trigger alone, whole skill, and both lifts."""
    columns = ("benchmark", "max turns", "V(none)", "V(m)", "V(N)", "total lift", "low", "high", "content lift")
    rows = []
    for each in several:
        found = each["valuation"]["anchors"]
        values = (found[name]["value"] for name in ("empty", "trigger", "full"))
        lift = each["valuation"]["content_lift"]["value"]
        rows.append((each["title"], each["turns"], *values, *_interval(each["total_lift"]), lift))
    return Table(name="anchors", title="Score anchors on panel A", columns=columns, rows=tuple(rows))


def closure(several: Sequence[Results]) -> Table:
    """Do the values add up to the lift? SkillSV's sum and Closure-LOO's, against Lambda."""
    lift, own, loo = ("lift", "low", "high"), ("sum phi", "low", "high"), ("sum LOO", "low", "high")
    columns = ("benchmark", "units", "tasks", *lift, *own, "ratio", "covers", *loo, "LOO ratio", "LOO covers")
    rows = []
    for each in several:
        found, left = each["valuation"]["closure"], each["closure_loo"]
        size = (each["skill"]["units"], each["panels"]["a"])
        skillsv = (*_interval(found["lift"]), *_interval(found["sum"]), found["ratio"], _mark(covers=found["covered"]))
        leave_out = (*_interval(left["sum"]), left["ratio"], _mark(covers=left["covered"]))
        rows.append((each["title"], *size, *skillsv, *leave_out))
    return Table(name="closure", title="Value closure", columns=columns, rows=tuple(rows))


def pruning(several: Sequence[Results]) -> Table:
    """The area under each method's pruning curve on panel B."""
    rows = [
        (each["title"], curve["method"], *_interval(curve["auc"]))
        for each in several
        for curve in each["held_out"]["curves"]
    ]
    columns = ("benchmark", "method", "AUC", "low", "high")
    return Table(name="pruning", title="Pruning on panel B", columns=columns, rows=tuple(rows))


def refinement(several: Sequence[Results]) -> Table:
    """Old against rewritten skill on panel B, and the mean over benchmarks where there are several."""
    columns = ("benchmark", "tasks", "token share", "V(old)", "V(new)", "change", "low", "high")
    rows: list[tuple[Cell, ...]] = []
    for each in several:
        if each["refinement"] is None:
            continue
        found = each["refinement"]["confirmation"]
        old, new = found["old"]["value"], found["new"]["value"]
        rows.append((each["title"], found["tasks"], found["token_share"], old, new, *_interval(found["delta"])))
    if len(rows) > 1:
        shares, changes = ([float(str(row[place])) for row in rows] for place in (2, 5))
        rows.append(("mean", None, sum(shares) / len(rows), None, None, sum(changes) / len(rows), None, None))
    return Table(name="refinement", title="Refinement, proved on panel B", columns=columns, rows=tuple(rows))


def agreement(several: Sequence[Results]) -> Table:
    """Kendall's tau-b between the rankings of the methods."""
    rows = [
        (each["title"], pair["first"], pair["second"], pair["tau"], pair["p_holm"])
        for each in several
        for pair in each["held_out"]["agreements"]
    ]
    columns = ("benchmark", "first", "second", "tau-b", "p (Holm)")
    return Table(name="agreement", title="Agreement of rankings", columns=columns, rows=tuple(rows))


def units(results: Results) -> Table:
    """Every unit's value with its interval, split into content and cost where both operators ran."""
    names = ("net", "content", "cost")
    columns = ("unit", "file", "line", "tokens", *(f"{name}{end}" for name in names for end in ("", " low", " high")))
    rows = []
    for unit in results["valuation"]["units"]:
        values = [cell for name in names for cell in _interval(unit[name])]
        rows.append((unit["id"], unit["file"], unit["lines"][0], unit["tokens"], *values, unit["verdict"]))
    return Table(name="units", title="Values of units", columns=(*columns, "verdict"), rows=tuple(rows))


def differences(found: Sequence[Comparison], skills: int) -> Table:
    """The areas of two methods compared, pooled over benchmarks."""
    rows = tuple(
        (each.first, each.second, each.difference.value, each.difference.low, each.difference.high) for each in found
    )
    columns = ("method", "against", "AUC difference", "low", "high")
    return Table(name="pooled", title=f"AUC differences over {skills} skills", columns=columns, rows=rows)


def _interval(found: Mapping[str, float] | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if found is None else (found["value"], found["low"], found["high"])


def _mark(*, covers: bool) -> str:
    return "yes" if covers else "no"
