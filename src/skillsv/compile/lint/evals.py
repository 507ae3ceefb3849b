"""Tasks and answers inside the skill folder: whoever gets the folder gets the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compile.lint.subject import Remark, Subject

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
