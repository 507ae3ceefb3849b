"""The sections of a skill as one table: folders, files, headings and marked regions, parents before children."""

from __future__ import annotations

from dataclasses import replace

from skillsv.model.skill import Lines, Section


class SectionTable:
    """The table while pass 1 builds it.

    A heading closes the open headings of the same or a deeper level. A heading inside a region closes none outside it.
    """

    def __init__(self, skill: str, main: str, lines: int) -> None:
        self._rows: list[Section] = [
            Section(title=skill, path=(), file=None, level=0, parent=None, kind="root"),
            Section(title=main, path=(main,), file=main, level=0, parent=0, lines=Lines(1, max(lines, 1)), kind="file"),
        ]
        self._file = main
        self._first_line: dict[int, int] = {}
        self._last_line: dict[int, int] = {}
        self._lines = lines
        # The open headings of the file, then those of the open region: each list goes from the top down.
        self._open_sections: list[list[int]] = [[1]]
        self._with_units: set[int] = {0}
        self._folders: dict[str, int] = {"": 0}

    @property
    def current(self) -> int:
        """The section that contains the next unit."""
        return self._open_sections[-1][-1]

    @property
    def current_heading(self) -> int:
        """The section of the nearest heading (or the file) above the next unit; regions do not count."""
        row = self._rows[self.current]
        return self.current if row.kind != "region" or row.parent is None else row.parent

    def title(self, section: int) -> str:
        """The title of a heading, empty for anything else."""
        row = self._rows[section]
        return row.title if row.kind == "heading" else ""

    def open_heading(self, title: str, level: int, line: int) -> int:
        """Open a heading's section, closing those of the same or a deeper level."""
        headings = self._open_sections[-1]
        while len(headings) > 1 and self._rows[headings[-1]].level >= level:
            self._last_line[headings.pop()] = line - 1
        headings.append(self._open(title, level, line, "heading"))
        return self.current

    def open_region(self, name: str, line: int) -> int:
        """Open a marked region below the current heading."""
        self._open_sections.append([self._open(name, 0, line, "region")])
        return self.current

    def close_region(self, line: int) -> int:
        """Close the region and every heading inside it; return the region's index."""
        region = self._open_sections.pop()
        self._last_line.update(dict.fromkeys(region, line))
        return region[0]

    def mark_unit(self, section: int) -> None:
        """Record that this section contains a unit."""
        current: int | None = section
        while current is not None and current not in self._with_units:
            self._with_units.add(current)
            current = self._rows[current].parent

    def settled(self, section: int) -> int:
        """The section itself, or the nearest one above it, that contains a unit."""
        while section not in self._with_units:
            section = self._rows[section].parent or 0
        return section

    def add_file(self, path: str, lines: int) -> int:
        """Add a resource file below its folders; return its index."""
        parent = self._folder(path.rpartition("/")[0])
        parts = tuple(path.split("/"))
        return self._append(
            Section(title=parts[-1], path=parts, file=path, level=0, parent=parent, lines=Lines(1, lines), kind="file")
        )

    def open_file(self, path: str, lines: int) -> int:
        """Add a file that is cut into units: the next headings and units are inside it. Return its index."""
        index = self.add_file(path, max(lines, 1))
        self._end_open_sections()
        self._file, self._lines = path, lines
        self._open_sections = [[index]]
        return index

    def close_file(self) -> None:
        """End the file that was opened last."""
        self._end_open_sections()

    def _end_open_sections(self) -> None:
        """The open headings end with their file."""
        for headings in self._open_sections:
            for section in headings:
                if section in self._first_line:
                    self._last_line.setdefault(section, self._lines)

    def rows(self) -> tuple[Section, ...]:
        """The finished table, with the lines of every heading and region."""
        return tuple(
            replace(row, lines=Lines(self._first_line[index], self._last_line.get(index, self._lines)))
            if index in self._first_line
            else row
            for index, row in enumerate(self._rows)
        )

    def _open(self, title: str, level: int, line: int, kind: str) -> int:
        parent = self.current
        path = (*self._rows[parent].path, title)
        index = self._append(Section(title=title, path=path, file=self._file, level=level, parent=parent, kind=kind))
        self._first_line[index] = line
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
