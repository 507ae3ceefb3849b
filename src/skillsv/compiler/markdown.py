"""Markdown as the compiler sees it: lines of a file, top-level blocks, and fenced code.

markdown-it-py decides what a block is. To support another kind of block, add its token type to `_FORMS` here and its
role to `granularity.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import dedent
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from skillsv.compiler.options import Underlined

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""

_MAX_NESTING = 200
"""Depth of nested blocks that the parser follows; with the preset's 20, a list 12 deep swallows its siblings."""

_FORMS = {
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "table_open": "table",
    "blockquote_open": "quote",
    "hr": "rule",
}
"""The form of a top-level block by the type of its token; headings and list items are handled apart."""

_SENTENCE_END = (".", ",", ";")
"""How a line of running text ends. A colon, question mark or exclamation mark also ends titles."""

_DASHED_RULE = re.compile(r" {0,3}-{3,}[ \t]*")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_OPENING_FENCE = re.compile(
    r"^(?P<lead>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<mark>`{3,}+(?=[^`]*$)|~{3,}+)(?P<info>.*)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTable:
    """A file cut into lines.

    `starts` has one entry more than there are lines: the length of the file. `texts` are the lines decoded, without
    their ends; bytes that are not UTF-8 are replaced there (and only there: `data` stays as it is).
    """

    data: bytes
    starts: tuple[int, ...]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


def cut_lines(data: bytes) -> LineTable:
    """Cut a file into lines at CRLF, LF and CR only, as Markdown does. A byte order mark belongs to no line."""
    first = len(BOM) if data.startswith(BOM) else 0
    ends = [match.end() for match in _LINE_END.finditer(data, first)]
    starts = [first, *ends]
    if starts[-1] != len(data):
        starts.append(len(data))
    text = data[first:].decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    texts = text.replace("\0", "�").split("\n")
    return LineTable(data=data, starts=tuple(starts), texts=tuple(texts[: len(starts) - 1]))


class TopBlock(NamedTuple):
    """Lines `first` up to `stop` (exclusive) are one block. `title` and `level` are those of a heading."""

    form: str
    first: int
    stop: int
    title: str = ""
    level: int = 0


def top_blocks(lines: Sequence[str], first: int = 0, underlined: Underlined = "text") -> list[TopBlock]:
    """The top-level blocks of the lines from `first` on, in order, without blank lines at their ends.

    A line that no token covers is a link reference definition: such lines form blocks of the form `definition`. Text
    that a rule right below it turns into a heading is a paragraph and a rule, as with a blank line between them;
    `underlined="heading"` leaves it as CommonMark reads it.
    """
    blocks: list[TopBlock] = []
    done = first
    for block in _token_blocks(_parse(lines[first:]), lines, first):
        blocks.extend(_definitions(lines, done, block.first))
        if underlined == "text" and _is_accidental_heading(block, lines):
            blocks.append(TopBlock("paragraph", block.first, block.stop - 1))
            blocks.append(TopBlock("rule", block.stop - 1, block.stop))
        else:
            blocks.append(block)
        done = block.stop
    blocks.extend(_definitions(lines, done, len(lines)))
    return blocks


def _is_accidental_heading(block: TopBlock, lines: Sequence[str]) -> bool:
    """Whether a heading is text above a line of dashes that was meant as a rule.

    A title has one line. So several lines are text. One line is text if it ends as a sentence does, and the dashes are
    not as long as the line, as under a title. A line of `=`, or of one or two dashes, is never a rule.
    """
    if block.form != "heading" or block.stop - block.first < 2:
        return False
    *text, dashes = lines[block.first : block.stop]
    if not _DASHED_RULE.fullmatch(dashes):
        return False
    line = text[0].strip()
    return len(text) > 1 or (line.endswith(_SENTENCE_END) and len(dashes.strip()) < len(line))


def is_glued_rule(before: TopBlock, block: TopBlock, lines: Sequence[str]) -> bool:
    """Whether a block is the rule below text that CommonMark reads, with this rule, as one heading."""
    glued = before.form == "paragraph" and block.form == "rule" and before.stop == block.first
    return glued and _DASHED_RULE.fullmatch(lines[block.first]) is not None


def is_blank(line: str) -> bool:
    """Whether a line holds nothing but spaces and tabs, which is what Markdown calls blank."""
    return not line.strip(" \t")


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable("table")


def _parse(lines: Sequence[str]) -> list[Token]:
    """The tokens of the block rules alone: inline markup is not needed here."""
    tokens: list[Token] = []
    parser = _parser()
    # The parser counts a blank last line only if it has a line end of its own.
    parser.block.parse("\n".join(lines) + "\n", parser, {}, tokens)
    return tokens


def _token_blocks(tokens: list[Token], lines: Sequence[str], offset: int) -> Iterator[TopBlock]:
    for index, token in enumerate(tokens):
        if token.level > 1 or token.map is None or token.nesting < 0:
            continue
        first, stop = token.map[0] + offset, token.map[1] + offset
        while stop > first + 1 and is_blank(lines[stop - 1]):
            stop -= 1
        if token.level == 1:
            if token.type == "list_item_open":
                yield TopBlock("bullet" if token.markup in "-*+" else "ordered", first, stop)
        elif token.type == "heading_open":
            yield TopBlock("heading", first, stop, tokens[index + 1].content.strip(), int(token.tag[1]))
        elif token.type in _FORMS:
            yield TopBlock(_FORMS[token.type], first, stop)


def _definitions(lines: Sequence[str], first: int, stop: int) -> Iterator[TopBlock]:
    start: int | None = None
    for index in range(first, stop + 1):
        blank = index == stop or is_blank(lines[index])
        if blank and start is not None:
            yield TopBlock("definition", start, index)
            start = None
        elif not blank and start is None:
            start = index


class OpeningFence(NamedTuple):
    """A line that opens a code fence: what stands before the marks, the marks, and the info string after them."""

    lead: str
    mark: str
    info: str


class Fence(NamedTuple):
    """A fenced code block by its lines (0-based, `stop` exclusive, fence lines included)."""

    first: int
    stop: int
    opening: OpeningFence
    closed: bool

    @property
    def language(self) -> str:
        """The language in lower case: the first word of the info string, without the braces of `{.python}`."""
        words = re.sub("[,{}]", " ", self.opening.info).split()
        return words[0].lstrip(".").lower() if words else ""

    def code(self, lines: Sequence[str]) -> str:
        """The code between the fence lines, without common indentation."""
        return dedent("\n".join(lines[self.first + 1 : self.stop - 1 if self.closed else self.stop]))


def opening_fence(line: str) -> OpeningFence | None:
    """The fence that a line opens, also after list markers and `>`; None where it opens none."""
    match = _OPENING_FENCE.match(line) if "```" in line or "~~~" in line else None
    return OpeningFence(match["lead"], match["mark"], match["info"].strip()) if match else None


def find_fences(lines: Sequence[str], first: int = 0, stop: int | None = None) -> Iterator[Fence]:
    """The fenced blocks of the lines `first` up to `stop`, those inside list items and quotes included."""
    limit = len(lines) if stop is None else stop
    index = first
    while index < limit:
        opening = opening_fence(lines[index])
        if opening is None:
            index += 1
            continue
        start = index
        index, closed = _fence_end(lines, start + 1, limit, opening)
        yield Fence(start, index, opening, closed)


def _fence_end(lines: Sequence[str], first: int, limit: int, opening: OpeningFence) -> tuple[int, bool]:
    """The line after the block, and whether a fence closes it."""
    for index in range(first, limit):
        line = lines[index].rstrip(" \t")
        marks = line.lstrip(" \t>")
        is_closing = len(marks) >= len(opening.mark) and marks == opening.mark[0] * len(marks)
        # A row of marks that stands four columns deeper than the opening fence is code.
        if is_closing and len(line) - len(marks) - len(opening.lead) <= 3:
            return index + 1, True
    return limit, False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """The code of a fenced block, and the line (0-based, within the text) where it starts."""

    language: str
    code: str
    line: int


def split_fences(text: str) -> tuple[str, tuple[CodeBlock, ...]]:
    """The text with the lines of fenced blocks emptied (so that line numbers stay), and the fenced blocks."""
    if "```" not in text and "~~~" not in text:
        return text, ()
    lines = text.split("\n")
    prose = lines.copy()
    blocks: list[CodeBlock] = []
    for fence in find_fences(lines):
        prose[fence.first : fence.stop] = [""] * (fence.stop - fence.first)
        blocks.append(CodeBlock(language=fence.language, code=fence.code(lines), line=fence.first + 1))
    return "\n".join(prose), tuple(blocks)
