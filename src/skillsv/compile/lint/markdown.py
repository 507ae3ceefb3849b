"""Code fences that end too late or too early, and take what follows with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from skillsv.compile.lint.subject import Document, Fence, Remark, Subject
from skillsv.compile.names import plain
from skillsv.compile.references import without_code_spans
from skillsv.model.skill import PieceRole

_NESTED = re.compile(r"^(?P<indent>[ \t>]*)(?P<fence>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<info>[\w+#.{-][^\n]*)$")


def unclosed(subject: Subject) -> Iterator[Remark]:
    """A fence that is never closed: everything after it is code."""
    for document in subject.documents:
        for fence in document.fences:
            if not fence.closed:
                yield Remark(_unclosed_words(document, fence), document.path, fence.first + 1)


def _unclosed_words(document: Document, fence: Fence) -> str:
    lines = sum(bool(line.strip()) for line in document.lines[fence.first + 1 : fence.stop])
    if not lines:
        return "This code fence opens nothing: it is left over, or a fence above ended too early. Remove it."
    where = "to the end of the file" if fence.stop >= len(document.lines) else f"to line {fence.stop}"
    what = "the line" if lines == 1 else f"the {lines} lines"
    return f"This code fence is never closed: {what} {where} count as code. Close it with {fence.mark}."


def swallowed(subject: Subject) -> Iterator[Remark]:
    """A fence that does not act as one: inside a fence of the same length, or right below an HTML tag."""
    for document in subject.documents:
        upset = -1
        for line, words in sorted([*_inside_html(document), *_inside_fences(document)]):
            # A fence that HTML took leaves its end behind as a beginning: what follows is the same defect.
            if line > upset:
                yield Remark(words, document.path, line)
            upset = max(upset, len(document.lines) if "HTML" in words else line)


def _inside_html(document: Document) -> Iterator[tuple[int, str]]:
    for block in document.blocks:
        if block.form != "html":
            continue
        for index in range(block.first + 1, block.stop):
            if _NESTED.match(document.lines[index]) and not document.lines[block.first].lstrip().startswith("<!--"):
                words = (
                    f"This code fence is read as HTML, because no blank line follows the tag of line {index}. Add one."
                )
                yield index + 1, words
                break


def _inside_fences(document: Document) -> Iterator[tuple[int, str]]:
    for fence in document.fences:
        inner = _inner_opening(document, fence)
        if inner is not None:
            words = (
                f"This code fence begins inside the one of line {fence.first + 1}, so its end closes that one. "
                f"Close the outer fence first, or give it {len(fence.mark) + 1} marks."
            )
            yield inner + 1, words


def _inner_opening(document: Document, fence: Fence) -> int | None:
    for index in range(fence.first + 1, fence.stop):
        match = _NESTED.match(document.lines[index])
        if match is None or match["fence"][0] != fence.mark[0] or len(match["fence"]) < len(fence.mark):
            continue
        if len(match["indent"]) - fence.indent <= 3:
            return index
    return None


# Headings that do not do what their author meant.

_GLUED_AFTER = re.compile(r"[\w.:;!?)\]*](#{2,6}) +(?=[A-Z0-9*`])")
_WRITTEN = frozenset({"paragraph", "bullet", "ordered", "table"})
_NO_SPACE = re.compile(r" {0,3}(#{2,6})(?=[^\W_])(.*)")
_SENTENCE = re.compile(r"[.:;,]$|\S\s+\S.{70}")


def empty(subject: Subject) -> Iterator[Remark]:
    """A heading of the main file with neither text nor a subheading that has text."""
    compiled = subject.compiled
    full: set[int | None] = {None}
    layout = next((layout for layout in compiled.layouts if layout.file == compiled.skill.main), None)
    if layout is None:
        return
    for piece in layout.pieces:
        node: int | None = piece.section
        while piece.role is PieceRole.UNIT and node not in full:
            full.add(node)
            node = compiled.sections[node].parent if node is not None else None
    for index, section in enumerate(compiled.sections):
        if section.kind == "heading" and section.lines and index not in full:
            words = f"The heading '{section.title}' has nothing below it. Write the section, or remove the heading."
            yield Remark(words, compiled.skill.main, section.lines.first)


def duplicate(subject: Subject) -> Iterator[Remark]:
    """Two sections of the main file with the same title under the same parent: a reference to it is ambiguous."""
    seen: dict[tuple[int | None, str], int] = {}
    for section in subject.compiled.sections:
        if section.kind != "heading" or section.lines is None:
            continue
        key = (section.parent, plain(section.title).strip().casefold())
        if key[1] and key in seen:
            words = f"The heading '{section.title}' stands on line {seen[key]} already. Merge the two, or rename one."
            yield Remark(words, subject.main.path, section.lines.first)
        seen.setdefault(key, section.lines.first)


def glued(subject: Subject) -> Iterator[Remark]:
    """A heading stuck to other text: at the end of its line, where it is no heading, or right below it.

    Both come from edits that lost a line break; below a list item the heading may be a comment of lost code.
    """
    for document in subject.documents:
        for number, line in document.prose:
            if "## " in line and _GLUED_AFTER.search(without_code_spans(line)):
                words = "A heading is glued to the end of this line. Put it on a line of its own."
                yield Remark(words, document.path, number)
        for before, block in pairwise(document.blocks):
            if block.form == "heading" and before.stop == block.first and before.form in _WRITTEN:
                words = f"The heading '{block.text}' is glued to the text above it. Put a blank line between them."
                yield Remark(words, document.path, block.first + 1)


def no_space(subject: Subject) -> Iterator[Remark]:
    """`##Title`: without a space, Markdown sees plain text."""
    for document in subject.documents:
        for number, line in document.prose:
            match = _NO_SPACE.fullmatch(line)
            if match:
                words = f"'{match[1]}' needs a space after it to make a heading. Write '{match[1]} {match[2][:40]}'."
                yield Remark(words, document.path, number)


def by_accident(subject: Subject) -> Iterator[Remark]:
    """A paragraph that became a heading because a line of dashes follows without a blank line."""
    for document in subject.documents:
        for first, stop in _underlined(document):
            text = " ".join(document.lines[first : stop - 1])
            if _SENTENCE.search(text.strip()) or stop - first > 2:
                words = "The line of dashes turns the text above it into a heading. Put a blank line between them."
                yield Remark(words, document.path, stop)


def _underlined(document: Document) -> Iterator[tuple[int, int]]:
    for block in document.blocks:
        if block.form == "heading" and block.stop - block.first > 1:
            yield block.first, block.stop
