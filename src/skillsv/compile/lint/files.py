"""Bytes that readers and tools stumble over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compile.lint.subject import Remark, Subject
from skillsv.compile.markdown import BOM


def byte_order_mark(subject: Subject) -> Iterator[Remark]:
    """A byte order mark: some loaders then do not find the frontmatter."""
    for document in subject.documents:
        if document.table.data.startswith(BOM):
            yield Remark("The file begins with a byte order mark. Save it as UTF-8 without one.", document.path)


def mixed_line_ends(subject: Subject) -> Iterator[Remark]:
    """Two kinds of line ends in one file: diffs and edits go wrong."""
    for document in subject.documents:
        kinds = [_end_of(document.table.data, end) for end in document.table.starts[1:]]
        counts = {kind: kinds.count(kind) for kind in ("CRLF", "LF", "CR") if kind in kinds}
        if len(counts) > 1:
            rare = min(counts, key=lambda kind: counts[kind])
            found = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            words = f"Line ends are mixed ({found}; here the first {rare}). Use one kind throughout."
            yield Remark(words, document.path, kinds.index(rare) + 1)


def _end_of(data: bytes, end: int) -> str:
    if data[end - 2 : end] == b"\r\n":
        return "CRLF"
    return {b"\n": "LF", b"\r": "CR"}.get(data[end - 1 : end], "")


# Tasks and answers inside the skill folder: whoever gets the folder gets the answers.

_FOLDER = "evals"
_LOOKALIKES = frozenset({"eval", "evaluation", "evaluations"})
_FILE = re.compile(r"(?:^|[/.])evals?\.(?:ya?ml|jsonl?)$")


def leak(subject: Subject) -> Iterator[Remark]:
    """A folder `evals/`, here or deeper, that the compiler had to leave out."""
    for finding in subject.compiled.findings:
        if finding.code == _FOLDER:
            words = (
                f"{finding.file}/ holds tasks and answers, and an agent that gets the folder can read them. "
                "skillsv leaves it out; move it outside before you publish, or test in other ways."
            )
            yield Remark(words, finding.file)


def lookalike(subject: Subject) -> Iterator[Remark]:
    """A folder or file that sounds like tasks and answers, and that the agent gets as part of the skill."""
    seen: dict[str, str] = {}
    for file in subject.compiled.skill.files:
        folder, inside, _ = file.path.partition("/")
        if inside and folder.lower() in _LOOKALIKES:
            seen.setdefault(folder, file.path)
        elif _FILE.search(file.path):
            seen.setdefault(file.path, file.path)
    for name, path in seen.items():
        words = f"{name} sounds like tasks and answers, and agents get it with the skill. Move it out of the folder."
        yield Remark(words, path)


def named(subject: Subject) -> Iterator[Remark]:
    """The main file sends the agent into `evals/`."""
    if not any(True for _ in leak(subject)):
        return
    for number, line in subject.main.prose:
        if f"{_FOLDER}/" in line:
            words = f"This line names {_FOLDER}/, which holds the answers and is left out of every test. Remove it."
            yield Remark(words, subject.main.path, number)


# The shape of the skill: how long it is, and where its parts need each other in a circle.

_LINES = 500
_CHARACTERS_PER_TOKEN = 4
_TOKENS = 5000


def long_body(subject: Subject) -> Iterator[Remark]:
    """A body beyond the specification's advice: 500 lines, 5000 tokens. All of it is read on every use."""
    main = subject.main
    body = main.lines[main.body_start :]
    tokens = sum(len(line) + 1 for line in body) // _CHARACTERS_PER_TOKEN
    if len(body) > _LINES or tokens > _TOKENS:
        words = (
            f"The body has {len(body)} lines, about {tokens} tokens; the advice is at most {_LINES} and {_TOKENS}. "
            "Move details into files that are read when needed."
        )
        yield Remark(words, main.path, main.body_start + 1)


def cycle(subject: Subject) -> Iterator[Remark]:
    """Parts that need each other in a circle: they are kept or removed only together."""
    compiled = subject.compiled
    for contraction in compiled.contractions:
        unit = compiled.unit[contraction.unit]
        places = ", ".join(f"{extent.file}:{extent.lines.first}" for extent in unit.extents[:6])
        more = f" and {len(unit.extents) - 6} more" if len(unit.extents) > 6 else ""
        words = (
            f"{len(contraction.members)} parts refer to each other in a circle ({places}{more}; "
            f"{' '.join(contraction.rules)}), so they are valued as one. Drop a reference to tell them apart."
        )
        yield Remark(words, unit.file, unit.lines.first)


def broken_table(subject: Subject) -> Iterator[Remark]:
    """Table rows cut off from their header by something in between: they no longer make a table."""
    compiled = subject.compiled
    for edge in compiled.edges:
        if edge.rule == "R7" and edge.at and edge.target_at:
            words = (
                f"These table rows stand apart from their header on line {edge.target_at.line}, "
                "so they are no table. Move them together, or repeat the header."
            )
            yield Remark(words, edge.at.file, edge.at.line)


# Placeholders that only some hosts fill in; any other agent reads them as they stand.

_ARGUMENTS = re.compile(r"\$ARGUMENTS\b(?:\[\d+\])?")
_COMMAND = re.compile(r"(?:^|(?<=[\s:(>*-]))!`[^`\n]+`")


def arguments(subject: Subject) -> Iterator[Remark]:
    """`$ARGUMENTS` in the body."""
    main = subject.main
    for index in range(main.body_start, len(main.lines)):
        match = _ARGUMENTS.search(main.lines[index])
        if match:
            words = f"'{match[0]}' is filled in by some hosts only. Say in words what the skill is given."
            yield Remark(words, main.path, index + 1)


def commands(subject: Subject) -> Iterator[Remark]:
    """A command in the form !`cmd` that a host runs before the model reads the skill."""
    main = subject.main
    for number, line in main.prose:
        match = _COMMAND.search(line)
        if match:
            words = f"{match[0][:60]} is run by some hosts only, before the skill is read. Tell the agent to run it."
            yield Remark(words, main.path, number)
