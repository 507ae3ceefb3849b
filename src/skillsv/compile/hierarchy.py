"""H: the document tree over units, before any repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillsv.model.skill import Lines, Section


@dataclass(slots=True, kw_only=True)
class Node:
    """A block of the tree, or a leaf when it carries a unit. `size` counts the units below, `place` orders blocks."""

    name: str
    place: int
    unit: str | None = None
    size: int = 1
    parent: int | None = None
    children: list[int] = field(default_factory=list)


def document_tree(sections: Sequence[Section], units: Sequence[str], home: Mapping[str, int]) -> list[Node]:
    """Nodes with the root last and every child before its parent.

    Sections without units do not appear, and a section with a single child is that child under a longer name: it has
    nothing of its own to keep together.
    """
    direct: list[list[int]] = [[] for _ in sections]
    nodes = [Node(name=unit, place=place, unit=unit) for place, unit in enumerate(units)]
    for index, unit in enumerate(units):
        direct[home[unit]].append(index)
    for index in range(len(sections) - 1, -1, -1):
        found = sorted(direct[index], key=lambda child: nodes[child].place)
        parent = sections[index].parent
        if not found:
            continue
        if len(found) == 1 and parent is not None:
            only = nodes[found[0]]
            if only.unit is None:
                only.name = f"{sections[index].title} / {only.name}"
            direct[parent].append(found[0])
            continue
        size = sum(nodes[child].size for child in found)
        nodes.append(Node(name=sections[index].title, place=nodes[found[0]].place, size=size, children=found))
        for child in found:
            nodes[child].parent = len(nodes) - 1
        if parent is not None:
            direct[parent].append(len(nodes) - 1)
    return nodes


# The document tree as a table: folders, files, headings and marked regions, parents before children.


class SectionTable:
    """Grows while a skill is walked: headings push and pop, a region keeps the headings inside it to itself."""

    def __init__(self, skill: str, main: str, lines: int) -> None:
        self._rows: list[Section] = [
            Section(title=skill, path=(), file=None, level=0, parent=None, kind="root"),
            Section(title=main, path=(main,), file=main, level=0, parent=0, lines=Lines(1, max(lines, 1)), kind="file"),
        ]
        self._file = main
        self._first: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._end = lines
        self._frames: list[list[int]] = [[1]]
        self._with_units: set[int] = {0}
        self._folders: dict[str, int] = {"": 0}

    @property
    def current(self) -> int:
        """The section that the next unit hangs under."""
        return self._frames[-1][-1]

    @property
    def current_heading(self) -> int:
        """The nearest heading (or the file) above the next unit: regions do not count."""
        row = self._rows[self.current]
        return self.current if row.kind != "region" or row.parent is None else row.parent

    def title(self, section: int) -> str:
        """The title of a heading, empty for anything else."""
        row = self._rows[section]
        return row.title if row.kind == "heading" else ""

    def heading(self, title: str, level: int, line: int) -> int:
        """Open a heading's section, closing those of the same or a deeper level."""
        frame = self._frames[-1]
        while len(frame) > 1 and self._rows[frame[-1]].level >= level:
            self._last[frame.pop()] = line - 1
        frame.append(self._open(title, level, line, "heading"))
        return self.current

    def open_region(self, name: str, line: int) -> int:
        """Open a marked region below the current heading."""
        self._frames.append([self._open(name, 0, line, "region")])
        return self.current

    def close_region(self, line: int) -> int:
        """Close the region and every heading inside it; the region's index."""
        frame = self._frames.pop()
        self._last.update(dict.fromkeys(frame, line))
        return frame[0]

    def mark_unit(self, section: int) -> None:
        """Note that a unit hangs under this section."""
        node: int | None = section
        while node is not None and node not in self._with_units:
            self._with_units.add(node)
            node = self._rows[node].parent

    def settled(self, section: int) -> int:
        """The nearest section, from here upwards, that has a unit below it."""
        while section not in self._with_units:
            section = self._rows[section].parent or 0
        return section

    def add_file(self, path: str, lines: int) -> int:
        """A resource file, below its folders."""
        parent = self._folder(path.rpartition("/")[0])
        parts = tuple(path.split("/"))
        return self._append(
            Section(title=parts[-1], path=parts, file=path, level=0, parent=parent, lines=Lines(1, lines), kind="file")
        )

    def rows(self) -> tuple[Section, ...]:
        """The finished table, every heading and region with its lines."""
        return tuple(
            replace(row, lines=Lines(self._first[index], self._last.get(index, self._end)))
            if index in self._first
            else row
            for index, row in enumerate(self._rows)
        )

    def _open(self, title: str, level: int, line: int, kind: str) -> int:
        parent = self.current
        path = (*self._rows[parent].path, title)
        index = self._append(Section(title=title, path=path, file=self._file, level=level, parent=parent, kind=kind))
        self._first[index] = line
        return index

    def _folder(self, path: str) -> int:
        if path not in self._folders:
            above, _, name = path.rpartition("/")
            parent = self._folder(above)
            parts = tuple(path.split("/"))
            self._folders[path] = self._append(
                Section(title=name, path=parts, file=None, level=0, parent=parent, kind="folder")
            )
        return self._folders[path]

    def _append(self, section: Section) -> int:
        self._rows.append(section)
        return len(self._rows) - 1
