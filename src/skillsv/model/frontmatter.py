"""The one reader of a skill's frontmatter: where it ends, and its top-level keys.

The compiler, `lint` and the chat agent all use it, so that they agree on what a skill's name and description are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import yaml

MAX_CHARACTERS = 65_536
"""Longer frontmatter is kept but not parsed: nobody writes that much by hand."""

MAX_DEPTH = 100
"""Lists and mappings inside each other. YAML parsers recurse, so that some thousands end the process."""

MAX_VALUES = 10_000
"""Values with every alias and every merge written out: a few aliases of aliases can stand for billions."""

_STRING_TAG = "tag:yaml.org,2002:str"
"""The type that YAML gives to a scalar that is neither number, date, boolean nor null."""

_NULL_TAG = "tag:yaml.org,2002:null"
"""The type of an empty value, `null` or `~`."""


class FrontmatterEntry(NamedTuple):
    """One top-level key: its line in the file (1-based) and its value.

    `value` is the text of a scalar, the scalar items of a list, and empty for a mapping. `tag` is the YAML type.
    """

    key: str
    line: int
    kind: Literal["scalar", "list", "mapping"]
    value: str | tuple[str, ...]
    tag: str

    @property
    def text(self) -> str | None:
        """The text of a scalar of any type, stripped; None where there is none."""
        is_text = isinstance(self.value, str) and self.tag != _NULL_TAG
        return str(self.value).strip() or None if is_text else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontmatter:
    """The frontmatter of one file.

    `lines` counts its lines, both delimiters included; 0 means that there is none. `problem` says why it could not be
    parsed (None: it was), and `problem_line` is the line of the file to point at.
    """

    lines: int = 0
    entries: tuple[FrontmatterEntry, ...] = ()
    problem: str | None = None
    problem_line: int = 1

    @property
    def name(self) -> str | None:
        """The skill's name, where it is a string."""
        return self._string("name")

    @property
    def description(self) -> str | None:
        """The skill's description, where it is a string."""
        return self._string("description")

    def values(self, key: str) -> tuple[str, ...]:
        """The texts under a key: one for a scalar, the scalar items for a list, none where the key is missing."""
        entry = self._last(key)
        if entry is None:
            return ()
        return (entry.value,) if isinstance(entry.value, str) else entry.value

    def _string(self, key: str) -> str | None:
        entry = self._last(key)
        return entry.text if entry is not None and entry.tag == _STRING_TAG else None

    def _last(self, key: str) -> FrontmatterEntry | None:
        """The last entry of a key: the one that YAML loaders keep."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)


def frontmatter_end(lines: Sequence[str]) -> int:
    """The number of lines the frontmatter takes, delimiters included; 0 when there is none.

    The first line is exactly `---`; a line `---` or `...` closes it.
    """
    if not lines or lines[0] != "---":
        return 0
    for index in range(1, len(lines)):
        if lines[index] in {"---", "..."}:
            return index + 1
    return 0


def read_frontmatter(lines: Sequence[str]) -> Frontmatter:
    """The frontmatter at the start of a file, given as lines without their ends.

    YAML is composed, never constructed: no tag runs code, and an alias is not expanded. What other readers of the same
    skill could not parse in bounded time and depth is a problem here, too.
    """
    end = frontmatter_end(lines)
    if not end:
        return Frontmatter()
    text = "\n".join(lines[1 : end - 1])
    if len(text) > MAX_CHARACTERS:
        return Frontmatter(lines=end, problem=f"longer than {MAX_CHARACTERS} characters, so it is not parsed")
    return _parse(text, end)


def yaml_problem(text: str, *, values: int = MAX_VALUES) -> str | None:
    """Why this YAML must not reach a parser that recurses or writes aliases out; None where it may.

    More than `values` values are too many.

    Reads events, which takes one step a value, and stops at the first problem. Raises yaml.YAMLError.
    """
    import yaml

    sizes = _YamlSizes()
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionEndEvent):
            sizes.close()
        elif isinstance(event, yaml.NodeEvent):
            if isinstance(event, yaml.AliasEvent) and sizes.is_open(event.anchor):
                return f"a value refers to itself (*{event.anchor})"
            sizes.add(event)
        if len(sizes.open_values) > MAX_DEPTH:
            return f"more than {MAX_DEPTH} lists or mappings inside each other, so it is not parsed"
        if sizes.total > values:
            return f"more than {values} values with aliases written out, so it is not parsed"
    return None


class _YamlSizes:
    """Counts values as if every alias were written out. `open_values` holds anchor and start of unfinished ones."""

    def __init__(self) -> None:
        self.total = 0
        self.open_values: list[tuple[str | None, int]] = []
        self._anchors: dict[str, int] = {}

    def is_open(self, anchor: str | None) -> bool:
        return any(anchor == name for name, _ in self.open_values)

    def add(self, event: yaml.NodeEvent) -> None:
        import yaml

        if isinstance(event, yaml.AliasEvent):
            self.total += self._anchors.get(event.anchor or "", 1)
            return
        if isinstance(event, yaml.CollectionStartEvent):
            self.open_values.append((event.anchor, self.total))
        elif event.anchor is not None:
            self._anchors[event.anchor] = 1
        self.total += 1

    def close(self) -> None:
        anchor, start = self.open_values.pop()
        if anchor is not None:
            self._anchors[anchor] = self.total - start


def _parse(text: str, end: int) -> Frontmatter:
    import yaml

    try:
        if problem := yaml_problem(text):
            return Frontmatter(lines=end, problem=problem)
        node = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return Frontmatter(
            lines=end, problem=error.problem or "not YAML", problem_line=_line_in_file(mark.line) if mark else 1
        )
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return Frontmatter(lines=end, problem=str(error).splitlines()[0])
    if node is None:
        return Frontmatter(lines=end)
    if not isinstance(node, yaml.MappingNode):
        return Frontmatter(lines=end, problem="not a mapping of keys to values", problem_line=2)
    return Frontmatter(lines=end, entries=tuple(_entry(key, value) for key, value in node.value))


def _entry(key: yaml.Node, node: yaml.Node) -> FrontmatterEntry:
    import yaml

    line = _line_in_file(key.start_mark.line)
    if isinstance(node, yaml.ScalarNode):
        return FrontmatterEntry(str(key.value), line, "scalar", node.value, node.tag)
    if isinstance(node, yaml.MappingNode):
        return FrontmatterEntry(str(key.value), line, "mapping", (), node.tag)
    items = tuple(item.value for item in node.value if isinstance(item, yaml.ScalarNode))
    return FrontmatterEntry(str(key.value), line, "list", items, node.tag)


def _line_in_file(line: int) -> int:
    """The line of the file (1-based) for a line of the YAML text (0-based), which starts below the delimiter."""
    return line + 2
