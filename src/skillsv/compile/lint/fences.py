"""Code fences that end too late or too early, and take what follows with them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compile.lint.subject import Document, Fence, Remark, Subject

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
