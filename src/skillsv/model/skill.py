"""A skill as read from disk, and the compiled skill: units, dependencies, hierarchy, layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from skillsv.errors import CoalitionError


class FileRole(StrEnum):
    """How the valuation treats a file of the skill folder."""

    MAIN = "main"  # SKILL.md, or the one Markdown file
    RESOURCE = "resource"  # an auxiliary file: one unit, or units inside a Markdown file
    CARRIED = "carried"  # in every rendering but the empty one, never a unit (LICENSE, nested skills, excluded files)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """One file of a skill, byte for byte.

    A file too large to hold in memory has `data` None and is copied from `origin` when rendered.
    """

    path: str
    role: FileRole
    data: bytes | None
    size: int
    digest: str
    executable: bool = False
    origin: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill folder (or a single Markdown file) as read, before any parsing."""

    name: str
    root: Path
    main: str
    files: tuple[SkillFile, ...]
    single_file: bool = False

    def file(self, path: str) -> SkillFile:
        """The file with that relative path."""
        return next(file for file in self.files if file.path == path)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of bytes in one file; `end` is exclusive."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True, order=True)
class Lines:
    """The first and last line (1-based, inclusive) that a span touches."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A file and a line, written as in a message: `SKILL.md:41`."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class UnitKind(StrEnum):
    """The kind of a unit."""

    TRIGGER = "trigger"  # m: the frontmatter, or a virtual one of zero bytes
    ITEM = "item"  # a top-level list item with everything indented under it
    BLOCK = "block"  # any other Markdown block, separated by blank lines
    REGION = "region"  # a region an optimizer rewrites as a whole
    SECTION = "section"  # granularity `section`: all of a leaf section
    RESOURCE = "resource"  # an auxiliary file
    COMPOSITE = "composite"  # a contracted dependency cycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Where the bytes of a unit are: one span of one file."""

    file: str
    span: Span
    lines: Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit, a player of the game in the paper: the smallest piece that is kept or removed as a whole.

    `form` is the Markdown form (bullet, ordered, paragraph, table, fence, html, ...), `section` the titles of the
    headings above it, `members` the ids that were contracted into a composite. A composite has one extent per member.
    The virtual trigger of a skill without frontmatter has an extent of zero bytes.
    """

    id: str
    kind: UnitKind
    form: str
    extents: tuple[Extent, ...]
    section: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file of the first extent."""
        return self.extents[0].file

    @property
    def span(self) -> Span:
        """The bytes of the first extent."""
        return self.extents[0].span

    @property
    def lines(self) -> Lines:
        """The lines of the first extent."""
        return self.extents[0].lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A dependency, an element of D in the paper: a coalition that contains `source` must contain `target`.

    `rule` is the compiler rule that found it, `evidence` the text that shows it. An edge of `prose` is a reference in
    running text: where such references lead in a circle, they are no reason to merge units.
    """

    rule: str
    source: str
    target: str
    evidence: str
    at: Location | None = None
    target_at: Location | None = None
    prose: bool = False


class PieceRole(StrEnum):
    """What a piece of a file is: part of a unit, or scaffold around units."""

    UNIT = "unit"
    HEADING = "heading"
    RULE = "rule"
    MARKER = "marker"
    GAP = "gap"  # blank lines between blocks
    BOM = "bom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A slice of a file. The pieces of a file, in order, concatenate to the file.

    A piece of a unit names its `unit`. A rendering keeps a scaffold piece if it keeps at least one unit in the subtree
    of `section` (an index into `CompiledSkill.sections`). The renderer has its own rule for gaps.
    """

    role: PieceRole
    span: Span
    section: int
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The partition of one file into pieces, in byte order."""

    file: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A node of the document tree: a folder, a file, a heading with its contents, or a marked region.

    `parent` is an index into the same table, smaller than the node's own (None for the root at index 0). `kind` is
    root, folder, file, heading or region; only headings have a `level` above 0.
    """

    title: str
    path: tuple[str, ...]
    file: str | None
    level: int
    parent: int | None
    lines: Lines | None = None
    kind: str = "heading"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the hierarchy H: one unit."""

    unit: str


@dataclass(frozen=True, slots=True)
class Block:
    """An inner node of the hierarchy H: its units are contiguous in every order."""

    name: str
    children: tuple[Block | Leaf, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """A dependency cycle that was contracted into one composite unit."""

    unit: str
    members: tuple[str, ...]
    rules: tuple[str, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A block (`expanded`) whose children were moved up to `node`: its contiguity contradicted the dependencies."""

    node: str
    expanded: str
    cycle: tuple[str, ...]
    rules: tuple[str, ...] = ()


class Severity(StrEnum):
    """How serious a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem in a skill: a code, its severity, the file and line, and a message that says what to do."""

    code: str
    severity: Severity
    message: str
    file: str
    line: int = 1


@dataclass(frozen=True, kw_only=True)
class CompiledSkill:
    """G = (N, D, H) in the paper: units, dependencies and hierarchy of a skill, with what is needed to check them.

    `units` (N) are in document order, the trigger first. `edges` (D) and `hierarchy` (H) refer to units after the
    contraction of cycles. `hierarchy` is the repaired tree from which orders are sampled.
    """

    skill: Skill
    options: Mapping[str, object]
    trigger: str
    units: tuple[Unit, ...]
    edges: tuple[Edge, ...]
    hierarchy: Block
    sections: tuple[Section, ...]
    layouts: tuple[Layout, ...]
    contractions: tuple[Contraction, ...] = ()
    repairs: tuple[Repair, ...] = ()
    findings: tuple[Finding, ...] = ()
    digest: str = ""
    pointers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each auxiliary file that is cut into units, the units that lead a reader to it."""

    @cached_property
    def unit(self) -> Mapping[str, Unit]:
        """Units by id."""
        return {unit.id: unit for unit in self.units}

    @cached_property
    def execution(self) -> tuple[str, ...]:
        """The ids of the execution units: all units but the trigger, in document order."""
        return tuple(unit.id for unit in self.units if unit.id != self.trigger)

    @cached_property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """For each unit the units it depends on directly, in document order."""
        return self._neighbours({unit.id: set() for unit in self.units}, forward=True)

    @cached_property
    def needed_by(self) -> Mapping[str, tuple[str, ...]]:
        """For each unit the units that depend on it directly, in document order."""
        return self._neighbours({unit.id: set() for unit in self.units}, forward=False)

    def _neighbours(self, table: dict[str, set[str]], *, forward: bool) -> dict[str, tuple[str, ...]]:
        for edge in self.edges:
            source, target = (edge.source, edge.target) if forward else (edge.target, edge.source)
            table[source].add(target)
        position = {unit.id: index for index, unit in enumerate(self.units)}
        return {unit: tuple(sorted(others, key=position.__getitem__)) for unit, others in table.items()}

    def closure(self, units: frozenset[str]) -> frozenset[str]:
        """The units together with all units on which they depend, directly or indirectly."""
        return _reach(units, self.needs)

    def reverse_closure(self, units: frozenset[str]) -> frozenset[str]:
        """The units together with all units that depend on them, directly or indirectly."""
        return _reach(units, self.needed_by)

    def unreached_without(self, removed: frozenset[str]) -> frozenset[str]:
        """The units of files to which only `removed` units lead a reader, directly or through such files.

        They are files that only removed units need, and the units inside files whose every pointer is removed. A file
        that nothing leads to is none of them.
        """
        unreached: set[str] = set()
        inside = self._units_inside
        while True:
            gone = removed | unreached
            files = {unit for unit in self._resources if self.needed_by[unit] and gone.issuperset(self.needed_by[unit])}
            for path, pointers in self.pointers.items():
                if pointers and gone.issuperset(pointers):
                    files.update(inside[path])
            found = files - gone
            if not found:
                return frozenset(unreached)
            unreached |= found

    @cached_property
    def first_pointers(self) -> Mapping[str, frozenset[str]]:
        """For each unit that is the first one to lead a reader to a file, the units of all these files."""
        files: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        files |= {unit: (self.needed_by[unit], (unit,)) for unit in self._resources}
        files |= {path: (pointers, self._units_inside[path]) for path, pointers in self.pointers.items()}
        found: dict[str, frozenset[str]] = {}
        for pointers, units in files.values():
            if pointers:
                found[pointers[0]] = found.get(pointers[0], frozenset()).union(units)
        return found

    @cached_property
    def leading(self) -> frozenset[str]:
        """The units that lead a reader to a file: those that need one, and those that point to one that is cut."""
        needing = (unit for file in self._resources for unit in self.needed_by[file])
        return frozenset(needing).union(*self.pointers.values())

    @cached_property
    def _resources(self) -> tuple[str, ...]:
        """The units that are one auxiliary file each."""
        return tuple(unit.id for unit in self.units if unit.kind is UnitKind.RESOURCE)

    @cached_property
    def _units_inside(self) -> Mapping[str, tuple[str, ...]]:
        """The units of each file that is cut; a composite that is in other files, too, is left out."""
        return {
            path: tuple(unit.id for unit in self.units if {extent.file for extent in unit.extents} == {path})
            for path in self.pointers
        }

    @cached_property
    def everything(self) -> frozenset[str]:
        """The grand coalition N: the ids of all units."""
        return frozenset(unit.id for unit in self.units)


def _reach(start: frozenset[str], step: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """All units that can be reached from `start`, which are included."""
    seen = set(start)
    todo = list(start)
    while todo:
        for other in step[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return frozenset(seen)


def find_unit(units: Sequence[str], name: str) -> str:
    """The id of the unit that a person names: its id, the beginning of its id, or its number among its kind.

    `routing/bullet-1` is the first bullet below "Routing", `routing/bullet-5ab` the one whose id begins so. Raises
    CoalitionError where no unit, or more than one, has that name.
    """
    if name in units:
        return name
    stem, _, number = name.rpartition("-")
    alike = [unit for unit in units if unit.rpartition("-")[0] == stem]
    if number.isdecimal() and 0 < int(number) <= len(alike):
        return alike[int(number) - 1]
    matching = [unit for unit in units if unit.startswith(name)]
    if not name or len(matching) != 1:
        raise CoalitionError(
            f"{name!r} names {len(matching) if name else 0} units of this skill.",
            hint="Give ids as 'skillsv compile' prints them.",
        )
    return matching[0]
