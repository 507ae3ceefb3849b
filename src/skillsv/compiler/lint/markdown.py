"""Checks of the Markdown text: fences, headings, tables, placeholders and length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from skillsv.compiler.lint.subject import Document, Remark, Subject
from skillsv.compiler.markdown import Fence, OpeningFence, is_glued_rule, opening_fence
from skillsv.compiler.names import plain
from skillsv.compiler.references import without_code_spans
from skillsv.model.skill import PieceRole

_MAX_BODY_LINES = 500
"""Lines of a body that the specification advises at most."""

_MAX_BODY_TOKENS = 5000
"""Tokens of a body that the specification advises at most."""

_CHARACTERS_PER_TOKEN = 4
"""Characters of English text per token, for an estimate."""

_LANGUAGE_START = re.compile(r"[\w+#.{-]")
HEADING_IN_LINE = re.compile(r"[\w.:;!?)\]*](#{2,6}) +(?=[A-Z0-9*`])")
HEADING_WITHOUT_SPACE = re.compile(r" {0,3}(#{2,6})(?=[^\W_])(.*)")
_SENTENCE = re.compile(r"[.:;,]$|\S\s+\S.{70}")
TEXT_FORMS = frozenset({"paragraph", "bullet", "ordered", "table"})
_ARGUMENTS = re.compile(r"\$ARGUMENTS\b(?:\[\d+\])?")
_HOST_COMMAND = re.compile(r"(?:^|(?<=[\s:(>*-]))!`[^`\n]+`")


def unclosed_fence(subject: Subject) -> Iterator[Remark]:
    """A fence that is never closed: everything after it is code."""
    for document in subject.documents:
        for fence in document.fences:
            if not fence.closed:
                yield Remark(_unclosed_message(document, fence), document.path, fence.first + 1)


def swallowed_fence(subject: Subject) -> Iterator[Remark]:
    """A fence that does not act as one: inside a fence of the same length, or right below an HTML tag."""
    for document in subject.documents:
        reported_to = -1
        for line, message in sorted([*_fences_in_html(document), *_fences_in_fences(document)]):
            # The end of a fence that is read as HTML opens a new fence: what follows is the same defect.
            if line > reported_to:
                yield Remark(message, document.path, line)
            reported_to = max(reported_to, len(document.lines) if "HTML" in message else line)


def empty_heading(subject: Subject) -> Iterator[Remark]:
    """A heading of the main file with neither text nor a subheading that has text."""
    compiled = subject.compiled
    with_text: set[int | None] = {None}
    layout = next((layout for layout in compiled.layouts if layout.file == compiled.skill.main), None)
    if layout is None:
        return
    for piece in layout.pieces:
        section: int | None = piece.section
        while piece.role is PieceRole.UNIT and section not in with_text:
            with_text.add(section)
            section = compiled.sections[section].parent if section is not None else None
    for index, row in enumerate(compiled.sections):
        if row.kind == "heading" and row.file == layout.file and row.lines and index not in with_text:
            message = f"The heading '{row.title}' has nothing below it. Write the section, or remove the heading."
            yield Remark(message, compiled.skill.main, row.lines.first)


def duplicate_heading(subject: Subject) -> Iterator[Remark]:
    """Two sections of the main file with the same title under the same parent: a reference to it is ambiguous."""
    first_line: dict[tuple[int | None, str], int] = {}
    for section in subject.compiled.sections:
        if section.kind != "heading" or section.lines is None or section.file != subject.main.path:
            continue
        key = (section.parent, plain(section.title).strip().casefold())
        if key[1] and key in first_line:
            message = (
                f"The heading '{section.title}' is already on line {first_line[key]}. Merge the two, or rename one."
            )
            yield Remark(message, subject.main.path, section.lines.first)
        first_line.setdefault(key, section.lines.first)


def glued_heading(subject: Subject) -> Iterator[Remark]:
    """A heading without a blank line before it: at the end of a line of text, or right below a line of text.

    Both come from edits that lost a line break. At the end of a line it is not a heading at all.
    """
    for document in subject.documents:
        for number, line in document.prose:
            if "## " in line and HEADING_IN_LINE.search(without_code_spans(line)):
                message = "A heading is glued to the end of this line. Put it on a line of its own."
                yield Remark(message, document.path, number)
        for before, block in pairwise(document.blocks):
            if block.form == "heading" and before.stop == block.first and before.form in TEXT_FORMS:
                message = f"The heading '{block.title}' is glued to the text above it. Put a blank line between them."
                yield Remark(message, document.path, block.first + 1)


def heading_without_space(subject: Subject) -> Iterator[Remark]:
    """`##Title`: without a space, Markdown reads it as plain text."""
    for document in subject.documents:
        for number, line in document.prose:
            match = HEADING_WITHOUT_SPACE.fullmatch(line)
            if match:
                message = f"'{match[1]}' needs a space after it to make a heading. Write '{match[1]} {match[2][:40]}'."
                yield Remark(message, document.path, number)


def accidental_heading(subject: Subject) -> Iterator[Remark]:
    """Text that CommonMark reads as a heading because a line of dashes follows without a blank line.

    The compiler cuts most of it as text and a rule. What it leaves as a heading is one line that may be a title.
    """
    message = "CommonMark reads the text above this line of dashes as a heading. Put a blank line between them."
    for document in subject.documents:
        lines = document.lines
        for before, block in pairwise(document.blocks):
            if is_glued_rule(before, block, lines):
                yield Remark(message, document.path, block.stop)
        for block in document.blocks:
            *text, underline = lines[block.first : block.stop]
            if block.form == "heading" and text and (len(text) > 1 or _SENTENCE.search(text[0].strip())):
                kind = "dashes" if "-" in underline else "equals signs"
                yield Remark(message.replace("dashes", kind), document.path, block.stop)


def broken_table(subject: Subject) -> Iterator[Remark]:
    """Table rows that something separates from their header: Markdown does not read them as a table."""
    for edge in subject.compiled.edges:
        if edge.rule == "R7" and edge.at and edge.target_at:
            message = (
                f"These table rows are separated from their header on line {edge.target_at.line}, "
                "so they are not a table. Move them together, or repeat the header."
            )
            yield Remark(message, edge.at.file, edge.at.line)


def long_body(subject: Subject) -> Iterator[Remark]:
    """A body longer than the specification advises. The agent reads all of it on every use."""
    main = subject.main
    body = main.lines[main.body_start :]
    tokens = sum(len(line) + 1 for line in body) // _CHARACTERS_PER_TOKEN
    if len(body) > _MAX_BODY_LINES or tokens > _MAX_BODY_TOKENS:
        message = (
            f"The body has {len(body)} lines, about {tokens} tokens; "
            f"the advice is at most {_MAX_BODY_LINES} and {_MAX_BODY_TOKENS}. "
            "Move details into files that are read when needed."
        )
        yield Remark(message, main.path, main.body_start + 1)


def arguments_placeholder(subject: Subject) -> Iterator[Remark]:
    """`$ARGUMENTS` in the body: only some hosts replace it."""
    main = subject.main
    for index in range(main.body_start, len(main.lines)):
        match = _ARGUMENTS.search(main.lines[index])
        if match:
            message = f"Only some hosts replace '{match[0]}' by a value. Say in words what the skill is given."
            yield Remark(message, main.path, index + 1)


def command_placeholder(subject: Subject) -> Iterator[Remark]:
    """A command in the form !`cmd`, which only some hosts run before the model reads the skill."""
    main = subject.main
    for number, line in main.prose:
        match = _HOST_COMMAND.search(line)
        if match:
            message = f"Only some hosts run {match[0][:60]} before the skill is read. Tell the agent to run it."
            yield Remark(message, main.path, number)


def _unclosed_message(document: Document, fence: Fence) -> str:
    lines = sum(bool(line.strip()) for line in document.lines[fence.first + 1 : fence.stop])
    if not lines:
        return "This code fence opens nothing: it is left over, or a fence above ended too early. Remove it."
    where = "to the end of the file" if fence.stop >= len(document.lines) else f"to line {fence.stop}"
    what = "the line" if lines == 1 else f"the {lines} lines"
    return f"This code fence is never closed: {what} {where} count as code. Close it with {fence.opening.mark}."


def _fences_in_html(document: Document) -> Iterator[tuple[int, str]]:
    for block in document.blocks:
        if block.form != "html":
            continue
        for index in range(block.first + 1, block.stop):
            is_comment = document.lines[block.first].lstrip().startswith("<!--")
            if _named_opening(document.lines[index]) and not is_comment:
                message = (
                    f"This code fence is read as HTML, because no blank line follows the tag of line {index}. Add one."
                )
                yield index + 1, message
                break


def _fences_in_fences(document: Document) -> Iterator[tuple[int, str]]:
    for fence in document.fences:
        inner = _inner_opening(document, fence)
        if inner is not None:
            message = (
                f"This code fence begins inside the one of line {fence.first + 1}, so its end closes that one. "
                f"Close the outer fence first, or give it {len(fence.opening.mark) + 1} marks."
            )
            yield inner + 1, message


def _inner_opening(document: Document, fence: Fence) -> int | None:
    """The line of a fence with a language that starts inside another fence with as many marks."""
    outer = fence.opening
    for index in range(fence.first + 1, fence.stop):
        inner = _named_opening(document.lines[index])
        if inner is None or inner.mark[0] != outer.mark[0] or len(inner.mark) < len(outer.mark):
            continue
        if len(inner.lead) - len(outer.lead) <= 3:
            return index
    return None


def _named_opening(line: str) -> OpeningFence | None:
    """The fence that a line opens, if it names a language and no list marker stands before it."""
    opening = opening_fence(line)
    if opening is None or opening.lead.strip(" \t>") or not _LANGUAGE_START.match(opening.info):
        return None
    return opening
