"""The top-level Markdown blocks of a document, by lines.

markdown-it-py decides what a block is. Two things keep that linear and quick without changing any answer: blocks whose
extent is certain from a look at the line starts (ATX headings, list items and paragraphs written the usual way) are
taken directly, and the rest is parsed in windows that end where no block can be open. A window whose last block may
still be open is parsed again, twice as long.
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


class TopBlock(NamedTuple):
    """Lines `first` up to `stop` (exclusive) are one block. `text` is a heading's title or an item's marker."""

    form: str
    first: int
    stop: int
    text: str = ""
    level: int = 0


_ITEM = re.compile(r"([-*+]|\d{1,9}[.)]) {1,4}(?=[^ \t])")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,}+)")
_FORMS = {
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "table_open": "table",
    "blockquote_open": "quote",
    "hr": "rule",
}
_WINDOW = 48
"""Lines after which a window ends at the next safe place: small enough to be cheap to repeat."""


def top_blocks(lines: Sequence[str], first: int = 0) -> list[TopBlock]:
    """The top-level blocks of the lines from `first` on, in order, without blank lines at their ends.

    A line that no block covers is a link reference definition: such lines form blocks of the form `definition`.
    """
    found: list[TopBlock] = []
    at, count = first, len(lines)
    while at < count:
        line = lines[at]
        if not line or (line.isspace() and not line.strip(" \t")):
            at += 1
            continue
        block = _heading(line, at) or _item(lines, at) or _paragraph(lines, at)
        if block is not None:
            found.append(block)
            at = block.stop
            continue
        stop, blocks = _window(lines, at)
        found.extend(blocks)
        at = stop
    return found


def parse_whole(lines: Sequence[str], first: int = 0) -> list[TopBlock]:
    """The same blocks from one parse of everything: the definition that `top_blocks` has to match."""
    return list(_read(_parse(lines[first:]), lines, first, len(lines)))


def is_blank(line: str) -> bool:
    """Whether a line holds nothing but spaces and tabs, which is what Markdown calls blank."""
    return not line.strip(" \t")


def _heading(line: str, at: int) -> TopBlock | None:
    match = _HEADING.match(line) if line[0] == "#" else None
    if match is None:
        return None
    title = (match[2] or "").strip(" \t")
    without_marks = title.rstrip("#")
    if without_marks != title and without_marks[-1:] in {"", " ", "\t"}:
        title = without_marks.strip()
    return TopBlock("heading", at, at + 1, title, len(match[1]))


def _item(lines: Sequence[str], at: int) -> TopBlock | None:
    """An item at indentation zero whose end is certain: what follows is another item, or stands after a blank line."""
    match = _ITEM.match(lines[at])
    if match is None or _RULE.match(lines[at]):
        return None
    margin = " " * match.end()
    last = at
    for index in range(at + 1, len(lines)):
        line = lines[index]
        if line.startswith(margin) and not is_blank(line):
            last = index
        elif not is_blank(line):
            after_blank = index > last + 1 and line[0] not in " \t"
            if not after_blank and not _starts_item(line):
                return None
            break
    return TopBlock(_list_form(match[1]), at, last + 1, match[1])


def _paragraph(lines: Sequence[str], at: int) -> TopBlock | None:
    """A paragraph all of whose lines start with a letter: nothing but a blank line can end it."""
    for index in range(at, len(lines)):
        line = lines[index]
        if is_blank(line):
            return TopBlock("paragraph", at, index)
        if not line[0].isalpha():
            return None
    return TopBlock("paragraph", at, len(lines))


def _starts_item(line: str) -> bool:
    return _ITEM.match(line) is not None and not _RULE.match(line)


def _list_form(marker: str) -> str:
    return "bullet" if marker in {"-", "*", "+"} else "ordered"


def _window(lines: Sequence[str], at: int) -> tuple[int, list[TopBlock]]:
    """Parse from `at` to a safe place; the line after the window, and the blocks in it."""
    size = 1
    while True:
        stop = _safe_stop(lines, at, size)
        tokens = _parse(lines[at:stop])
        if stop == len(lines) or _all_closed(tokens, lines, at, stop):
            return stop, list(_read(tokens, lines, at, stop))
        size = 2 * (stop - at)


def _safe_stop(lines: Sequence[str], at: int, size: int) -> int:
    """A line before which the parse may end: indentation zero after a blank, or an item; fences are skipped."""
    fence = ""
    for index in range(at, len(lines)):
        line = lines[index]
        opening = _FENCE.match(line)
        if fence:
            if opening and opening[1].startswith(fence) and not line[opening.end() :].strip(" \t"):
                fence = ""
            continue
        if index >= at + size and line and line[0] not in " \t" and (is_blank(lines[index - 1]) or _starts_item(line)):
            certain = line[0] == "#" or _starts_item(line)
            if certain or index >= at + _WINDOW:
                return index
        if opening:
            fence = opening[1]
    return len(lines)


def _all_closed(tokens: list[Token], lines: Sequence[str], at: int, stop: int) -> bool:
    """Whether the next line starts a block of its own, whatever came before it."""
    if not tokens:
        return is_blank(lines[stop - 1])
    last = tokens[-1]
    if last.type in {"bullet_list_close", "ordered_list_close"}:
        return True
    if not is_blank(lines[stop - 1]):
        return False
    reaches_end = last.map is not None and last.map[1] >= stop - at
    return not (last.type in {"fence", "html_block"} and reaches_end)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": 200}).enable("table")


def _parse(lines: Sequence[str]) -> list[Token]:
    tokens: list[Token] = []
    parser = _parser()
    # a blank last line counts only if it has an end of its own
    parser.block.parse("\n".join(lines) + "\n", parser, {}, tokens)
    return tokens


def _read(tokens: list[Token], lines: Sequence[str], first: int, stop: int) -> Iterator[TopBlock]:
    """Blocks from tokens, and definitions from the lines that no token covers."""
    done = first
    for block in _covered(tokens, lines, first):
        yield from _definitions(lines, done, block.first)
        yield block
        done = block.stop
    yield from _definitions(lines, done, stop)


def _covered(tokens: list[Token], lines: Sequence[str], offset: int) -> Iterator[TopBlock]:
    for index, token in enumerate(tokens):
        if token.map is None or token.nesting < 0:
            continue
        start, stop = token.map[0] + offset, token.map[1] + offset
        while stop > start + 1 and is_blank(lines[stop - 1]):
            stop -= 1
        if token.level == 0 and token.type == "heading_open":
            yield TopBlock("heading", start, stop, tokens[index + 1].content.strip(), int(token.tag[1]))
        elif token.level == 0 and token.type in _FORMS:
            yield TopBlock(_FORMS[token.type], start, stop)
        elif token.level == 1 and token.type == "list_item_open":
            marker = token.info + token.markup
            yield TopBlock(_list_form(marker), start, stop, marker)


def _definitions(lines: Sequence[str], first: int, stop: int) -> Iterator[TopBlock]:
    start: int | None = None
    for index in range(first, stop + 1):
        blank = index == stop or is_blank(lines[index])
        if blank and start is not None:
            yield TopBlock("definition", start, index)
            start = None
        elif not blank and start is None:
            start = index


# Lines of a file by bytes: cut at CRLF, LF and CR only, the way Markdown does, never elsewhere.

_LINE_END = re.compile(rb"\r\n|\n|\r")
BOM = b"\xef\xbb\xbf"


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
    """The lines of a file; a byte order mark is part of none of them."""
    first = len(BOM) if data.startswith(BOM) else 0
    ends = [match.end() for match in _LINE_END.finditer(data, first)]
    starts = [first, *ends]
    if starts[-1] != len(data):
        starts.append(len(data))
    text = data[first:].decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    texts = text.replace("\0", "�").split("\n")
    return LineTable(data=data, starts=tuple(starts), texts=tuple(texts[: len(starts) - 1]))


# Prose and fenced code of one unit, kept apart.

_OPEN = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+|~{3,}+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """A fenced block: its language in lower case, its code, and the line of the code's start within the unit."""

    language: str
    code: str
    line: int


def split_fences(text: str) -> tuple[str, tuple[CodeBlock, ...]]:
    """The text with fenced lines blanked (so that line numbers stay), and the fenced blocks."""
    if "```" not in text and "~~~" not in text:
        return text, ()
    prose: list[str] = []
    blocks: list[CodeBlock] = []
    code: list[str] = []
    fence = language = ""
    for number, line in enumerate(text.split("\n")):
        if not fence:
            opening = _OPEN.match(line)
            if opening is None or (opening[1][0] == "`" and "`" in line[opening.end() :]):
                prose.append(line)
                continue
            fence, language, code = opening[1], line[opening.end() :].strip(), []
            start = number + 1
        elif _closes(line, fence):
            blocks.append(_block(language, code, start))
            fence = ""
        else:
            code.append(line)
        prose.append("")
    if fence:
        blocks.append(_block(language, code, start))
    return "\n".join(prose), tuple(blocks)


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip(" \t>")
    return len(stripped) >= len(fence) and stripped == fence[0] * len(stripped)


def _block(language: str, code: list[str], line: int) -> CodeBlock:
    words = language.replace(",", " ").replace("{", " ").replace("}", " ").split()
    name = words[0].lstrip(".").lower() if words else ""
    return CodeBlock(language=name, code=dedent("\n".join(code)), line=line)
