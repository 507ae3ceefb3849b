"""The results of benchmarks on disk: one JSON, tables as Markdown and CSV, figures as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillsv.cli.printing import deliver, json_text
from skillsv.errors import OutputError

if TYPE_CHECKING:
    from skillsv.benchmarks.tables import Table
    from skillsv.report.figures import Figure


def write_all(folder: Path, name: str, results: Any, tables: Sequence[Table], figures: Sequence[Figure]) -> None:
    """Write everything; the same results give the same bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as trouble:
        raise OutputError(f"{trouble.strerror}.", where=str(folder), hint="Choose another folder with -o.") from trouble
    deliver(json_text(results), folder / name)
    deliver("\n".join(table.markdown() for table in tables), folder / "tables.md")
    for table in tables:
        deliver(table.csv(), folder / f"{table.name}.csv")
    for figure in figures:
        deliver(str(figure.svg) + "\n", folder / f"{figure.name}.svg")
