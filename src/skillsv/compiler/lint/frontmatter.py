"""Checks of the frontmatter against the specification of agentskills.io, which is for skill folders only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillsv.compiler.lint.subject import Remark, Subject
from skillsv.model.frontmatter import FrontmatterEntry

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
"""Keys of the specification."""

_HOST_KEYS = frozenset(
    {"argument-hint", "arguments", "disable-model-invocation", "user-invocable", "model", "effort", "context", "agent"}
    | {"hooks", "paths", "shell", "when_to_use", "disallowed-tools"}
)
"""Keys that some hosts read although the specification lacks them; other hosts ignore or refuse them."""

_MAX_NAME = 64
"""Characters of a name, by the specification."""

_MAX_DESCRIPTION = 1024
"""Characters of a description, by the specification."""

_MAX_COMPATIBILITY = 500
"""Characters of a compatibility note, by the specification."""


def frontmatter_missing(subject: Subject) -> Iterator[Remark]:
    """A skill folder whose SKILL.md has no frontmatter: agents cannot know when to use it."""
    main = subject.main
    if subject.compiled.skill.single_file or main.body_start:
        return
    first = main.lines[0].strip() if main.lines else ""
    if first == "---":
        message = "The frontmatter opened here is never closed. End it with a line of three dashes."
    else:
        message = "There is no frontmatter. Begin the file with a name and a description between two lines of dashes."
    yield Remark(message, main.path)


def frontmatter_not_yaml(subject: Subject) -> Iterator[Remark]:
    """Frontmatter that a YAML parser refuses: agents will not load the skill."""
    problem = subject.frontmatter.problem
    if problem:
        message = f"The frontmatter cannot be read: {problem}. Put values with colons or quotes into quotes."
        yield Remark(message, subject.main.path, subject.frontmatter.problem_line)


def name_missing(subject: Subject) -> Iterator[Remark]:
    """No name, or a value that is not text."""
    yield from _missing(subject, "name")


def description_missing(subject: Subject) -> Iterator[Remark]:
    """No description, or a value that is not text."""
    yield from _missing(subject, "description")


def name_not_allowed(subject: Subject) -> Iterator[Remark]:
    """A name is 1 to 64 lower-case letters, digits and single hyphens."""
    name = _entry(subject, "name")
    if name and name.text and not (_NAME.fullmatch(name.text) and len(name.text) <= _MAX_NAME):
        message = f"The name '{name.text}' is not 1 to 64 lower-case letters, digits and single hyphens. Rename it."
        yield Remark(message, subject.main.path, name.line)


def name_differs_from_folder(subject: Subject) -> Iterator[Remark]:
    """A name that differs from the folder: the specification wants them to be the same."""
    name = _entry(subject, "name")
    folder = subject.compiled.skill.root.absolute().name
    if name and name.text and name.text != folder:
        message = f"The name '{name.text}' differs from the folder '{folder}'. Rename one of them."
        yield Remark(message, subject.main.path, name.line)


def description_too_long(subject: Subject) -> Iterator[Remark]:
    """A description has at most 1024 characters."""
    yield from _too_long(subject, "description", _MAX_DESCRIPTION)


def compatibility_too_long(subject: Subject) -> Iterator[Remark]:
    """A compatibility note has at most 500 characters."""
    yield from _too_long(subject, "compatibility", _MAX_COMPATIBILITY)


def unknown_key(subject: Subject) -> Iterator[Remark]:
    """A key that neither the specification nor a known host reads."""
    for entry in subject.entries or ():
        if entry.key not in _KEYS | _HOST_KEYS:
            message = f"The key '{entry.key}' is not in the specification. Move it under 'metadata', or remove it."
            yield Remark(message, subject.main.path, entry.line)


def host_key(subject: Subject) -> Iterator[Remark]:
    """A key that only some hosts read."""
    for entry in subject.entries or ():
        if entry.key in _HOST_KEYS:
            message = f"Only some agents read the key '{entry.key}'. Do not rely on it where others use the skill."
            yield Remark(message, subject.main.path, entry.line)


def duplicate_key(subject: Subject) -> Iterator[Remark]:
    """The same key twice: parsers keep the last value, or refuse the file."""
    first_line: dict[str, int] = {}
    for entry in subject.entries or ():
        if entry.key in first_line:
            message = f"The key '{entry.key}' is already on line {first_line[entry.key]}. Keep one of them."
            yield Remark(message, subject.main.path, entry.line)
        first_line.setdefault(entry.key, entry.line)


def wrong_type(subject: Subject) -> Iterator[Remark]:
    """A value whose shape the specification does not allow."""
    expected = {"license": "text", "compatibility": "text", "allowed-tools": "text", "metadata": "a mapping"}
    for entry in subject.entries or ():
        shape = expected.get(entry.key)
        if shape and entry.kind != ("mapping" if shape == "a mapping" else "scalar"):
            message = f"The value of '{entry.key}' should be {shape}. Write it as the specification has it."
            yield Remark(message, subject.main.path, entry.line)


def _missing(subject: Subject, key: str) -> Iterator[Remark]:
    entry = _entry(subject, key)
    if subject.entries is not None and (entry is None or entry.text is None):
        what = f"There is no '{key}'" if entry is None else f"The '{key}' is empty or not text"
        yield Remark(f"{what} in the frontmatter. Agents need it.", subject.main.path, entry.line if entry else 1)


def _too_long(subject: Subject, key: str, limit: int) -> Iterator[Remark]:
    entry = _entry(subject, key)
    if entry and entry.text and len(entry.text) > limit:
        message = f"The {key} has {len(entry.text)} characters; {limit} are allowed. Shorten it."
        yield Remark(message, subject.main.path, entry.line)


def _entry(subject: Subject, key: str) -> FrontmatterEntry | None:
    return next((entry for entry in subject.entries or () if entry.key == key), None)
