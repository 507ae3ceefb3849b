"""Checks of the files of a skill: bytes that confuse tools, and answers that agents could read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compiler.lint.subject import Remark, Subject
from skillsv.compiler.markdown import BOM

_ANSWER_FOLDER = "evals"
"""The folder of tasks and answers, and the code of the compiler's finding for it."""

_ANSWER_LOOKALIKES = frozenset({"eval", "evaluation", "evaluations"})
"""Other folder names that authors use for tasks and answers."""

_ANSWER_FILE = re.compile(r"(?:^|[/.])evals?\.(?:ya?ml|jsonl?)$")


def byte_order_mark(subject: Subject) -> Iterator[Remark]:
    """A byte order mark: some loaders then do not find the frontmatter."""
    for document in subject.documents:
        if document.table.data.startswith(BOM):
            yield Remark("The file begins with a byte order mark. Save it as UTF-8 without one.", document.path)


def mixed_line_ends(subject: Subject) -> Iterator[Remark]:
    """Two kinds of line ends in one file: diffs and edits go wrong."""
    for document in subject.documents:
        kinds = [line_end(document.table.data, end) for end in document.table.starts[1:]]
        counts = {kind: kinds.count(kind) for kind in ("CRLF", "LF", "CR") if kind in kinds}
        if len(counts) > 1:
            rare = min(counts, key=lambda kind: counts[kind])
            listed = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            message = f"Line ends are mixed ({listed}; here the first {rare}). Use one kind throughout."
            yield Remark(message, document.path, kinds.index(rare) + 1)


def evals_folder(subject: Subject) -> Iterator[Remark]:
    """A folder `evals/` at any depth, which the compiler leaves out."""
    for finding in subject.compiled.findings:
        if finding.code == _ANSWER_FOLDER:
            message = (
                f"{finding.file}/ holds tasks and answers, and an agent that gets the folder can read them. "
                "skillsv leaves it out; move it outside before you publish, or test in other ways."
            )
            yield Remark(message, finding.file)


def evals_lookalike(subject: Subject) -> Iterator[Remark]:
    """A folder or file whose name suggests tasks and answers, and which the agent gets as part of the skill."""
    first_file: dict[str, str] = {}
    for file in subject.compiled.skill.files:
        folder, separator, _ = file.path.partition("/")
        if separator and folder.lower() in _ANSWER_LOOKALIKES:
            first_file.setdefault(folder, file.path)
        elif _ANSWER_FILE.search(file.path):
            first_file.setdefault(file.path, file.path)
    for name, path in first_file.items():
        message = f"{name} may hold tasks and answers, and agents get it with the skill. Move it out of the folder."
        yield Remark(message, path)


def evals_reference(subject: Subject) -> Iterator[Remark]:
    """A line of the main file that names `evals/`, although the skill has such a folder."""
    if not any(True for _ in evals_folder(subject)):
        return
    for number, line in subject.main.prose:
        if f"{_ANSWER_FOLDER}/" in line:
            message = (
                f"This line names {_ANSWER_FOLDER}/, which holds the answers and is left out of every test. Remove it."
            )
            yield Remark(message, subject.main.path, number)


def line_end(data: bytes, end: int) -> str:
    """The kind of the line end before an offset: CRLF, LF, CR, or empty."""
    if data[end - 2 : end] == b"\r\n":
        return "CRLF"
    return {b"\n": "LF", b"\r": "CR"}.get(data[end - 1 : end], "")
