"""The files of `skillsv bench paper`: tables and figures with their origin, what is missing, and the index of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from skillsv.errors import OutputError
from skillsv.extend.figures import Figure
from skillsv_bench.tables import Cell, Table

INDEX = "index.md"
"""The file that says what the others are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One table or figure: a base name for its files, its place in the paper, and what made it.

    `differences` say how it differs from the paper's. `table` is written as CSV and Markdown, `svg` as a drawing.
    """

    name: str
    place: str
    title: str
    source: str
    table: Table
    svg: str | None = None
    differences: tuple[str, ...] = ()

    def contents(self) -> dict[str, str]:
        """The files of the artifact by name."""
        files = {f"{self.name}.csv": self.table.csv(), f"{self.name}.md": self.table.markdown()}
        return files if self.svg is None else {**files, f"{self.name}.svg": self.svg.rstrip("\n") + "\n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingArtifact:
    """A table or figure, or a part of one, that cannot be had: what it needs, and a command that would make it."""

    place: str
    title: str
    needs: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSet:
    """All artifacts that were made, all that are missing, and notes that concern more than one of them."""

    artifacts: tuple[Artifact, ...] = ()
    missing: tuple[MissingArtifact, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __add__(self, other: ArtifactSet) -> ArtifactSet:
        return ArtifactSet(
            artifacts=tuple(sorted(self.artifacts + other.artifacts, key=_paper_order)),
            missing=self.missing + other.missing,
            notes=self.notes + other.notes,
        )

    def write(self, folder: Path, command: str) -> tuple[str, ...]:
        """Write all files and the index to the folder, and return their names."""
        files = {name: text for artifact in self.artifacts for name, text in artifact.contents().items()}
        files[INDEX] = self.index(command)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise OutputError(f"{error.strerror}.", where=str(folder), hint="Choose another folder with -o.") from error
        return tuple(files)

    def index(self, command: str) -> str:
        """The index: every file with its origin, the differences to the paper, and what is missing."""
        lines = ["# Tables and figures of the paper", "", f"Written by `{command}`.", "", "## Files", ""]
        lines += _table(
            ("in the paper", "what", "files", "made by"),
            ((made.place, made.title, _links(made), made.source) for made in self.artifacts),
        )
        lines += ["", "## Differences to the paper", "", *(f"- {note}" for note in self.notes)]
        lines += [f"- {made.place}, `{made.name}`: {note}" for made in self.artifacts for note in made.differences]
        lines += ["", "## Missing", "", *self.missing_lines()]
        return "\n".join(lines) + "\n"

    def missing_lines(self) -> list[str]:
        """One Markdown item for each thing that is missing."""
        if not self.missing:
            return ["Nothing is missing."]
        return [f"- {gap.place}, {gap.title}: {gap.needs} `{gap.command}`" for gap in self.missing]

    def as_json(self) -> dict[str, Any]:
        """Files and gaps as JSON."""
        return {
            "artifacts": [
                {
                    "place": made.place,
                    "title": made.title,
                    "files": list(made.contents()),
                    "source": made.source,
                    "differences": list(made.differences),
                }
                for made in self.artifacts
            ],
            "missing": [
                {"place": gap.place, "title": gap.title, "needs": gap.needs, "command": gap.command}
                for gap in self.missing
            ],
            "notes": list(self.notes),
        }


def _paper_order(artifact: Artifact) -> tuple[int, int, str]:
    """Tables, figures, appendix, each by its number."""
    kind, _, rest = artifact.name.partition("-")
    number = rest.partition("-")[0]
    return ("table", "figure", "appendix").index(kind), int(number) if number.isdigit() else 0, artifact.name


def table_of(figure: Figure, *, points: Sequence[str] = (), name: str | None = None, title: str | None = None) -> Table:
    """The numbers of a figure as a table; `points` are its columns with amounts of score."""
    return Table(
        name=name or figure.name,
        title=title or figure.title,
        columns=figure.columns,
        rows=tuple(figure.rows),
        points=tuple(points),
    )


def rows_table(name: str, title: str, rows: Sequence[Any], points: Sequence[str]) -> Table:
    """A table of dataclass instances, a column for each field."""
    columns = tuple(column.name for column in fields(rows[0]))
    cells: list[tuple[Cell, ...]] = [tuple(getattr(row, column) for column in columns) for row in rows]
    return Table(name=name, title=title, columns=columns, rows=tuple(cells), points=tuple(points))


def _links(artifact: Artifact) -> str:
    return " ".join(f"[{name.rpartition('.')[2]}]({name})" for name in artifact.contents())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines]
