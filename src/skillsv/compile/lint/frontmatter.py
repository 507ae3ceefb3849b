"""Frontmatter against the rules of agentskills.io. A single Markdown file is no skill folder: they do not bind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from skillsv.compile.lint.subject import Entry, Remark, Subject

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_HOST_KEYS = frozenset(
    {"argument-hint", "arguments", "disable-model-invocation", "user-invocable", "model", "effort", "context", "agent"}
    | {"hooks", "paths", "shell", "when_to_use", "disallowed-tools"}
)
"""Keys that some hosts read beyond the specification; others ignore or refuse them."""


def missing(subject: Subject) -> Iterator[Remark]:
    """A skill folder whose SKILL.md has no frontmatter: no agent can know when to use it."""
    main = subject.main
    if subject.compiled.skill.single_file or main.body_start:
        return
    first = main.lines[0].strip() if main.lines else ""
    if first == "---":
        words = "The frontmatter opened here is never closed. End it with a line of three dashes."
    else:
        words = "There is no frontmatter. Begin the file with a name and a description between two lines of dashes."
    yield Remark(words, main.path)


def not_yaml(subject: Subject) -> Iterator[Remark]:
    """Frontmatter that a YAML parser refuses: agents will not load the skill."""
    manifest = subject.manifest
    if manifest.problem:
        words = f"The frontmatter cannot be read: {manifest.problem}. Put values with colons or quotes into quotes."
        yield Remark(words, subject.main.path, manifest.line)


def name_missing(subject: Subject) -> Iterator[Remark]:
    """No name, or one that is no text."""
    yield from _missing(subject, "name")


def description_missing(subject: Subject) -> Iterator[Remark]:
    """No description, or one that is no text."""
    yield from _missing(subject, "description")


def name_form(subject: Subject) -> Iterator[Remark]:
    """A name is 1 to 64 lower-case letters, digits and single hyphens."""
    name = _entry(subject, "name")
    if name and name.text and not (_NAME.fullmatch(name.text) and len(name.text) <= 64):
        words = f"The name '{name.text}' is not 1 to 64 lower-case letters, digits and single hyphens. Rename it."
        yield Remark(words, subject.main.path, name.line)


def name_differs_from_folder(subject: Subject) -> Iterator[Remark]:
    """The name and the folder have to agree."""
    name = _entry(subject, "name")
    folder = subject.compiled.skill.root.absolute().name
    if name and name.text and name.text != folder:
        words = f"The name '{name.text}' differs from the folder '{folder}'. Rename one of them."
        yield Remark(words, subject.main.path, name.line)


def description_too_long(subject: Subject) -> Iterator[Remark]:
    """A description has at most 1024 characters."""
    yield from _too_long(subject, "description", 1024)


def compatibility_too_long(subject: Subject) -> Iterator[Remark]:
    """A compatibility note has at most 500 characters."""
    yield from _too_long(subject, "compatibility", 500)


def unknown_key(subject: Subject) -> Iterator[Remark]:
    """A key that neither the specification nor a known host reads."""
    for entry in subject.entries or ():
        if entry.key not in _KEYS | _HOST_KEYS:
            words = f"The key '{entry.key}' is not in the specification. Move it under 'metadata', or remove it."
            yield Remark(words, subject.main.path, entry.line)


def host_key(subject: Subject) -> Iterator[Remark]:
    """A key that only some hosts read."""
    for entry in subject.entries or ():
        if entry.key in _HOST_KEYS:
            words = f"Only some agents read the key '{entry.key}'. Do not rely on it where others use the skill."
            yield Remark(words, subject.main.path, entry.line)


def duplicate_key(subject: Subject) -> Iterator[Remark]:
    """The same key twice: parsers keep the last, or refuse."""
    seen: dict[str, int] = {}
    for entry in subject.entries or ():
        if entry.key in seen:
            words = f"The key '{entry.key}' stands on line {seen[entry.key]} already. Keep one of them."
            yield Remark(words, subject.main.path, entry.line)
        seen.setdefault(entry.key, entry.line)


def wrong_type(subject: Subject) -> Iterator[Remark]:
    """A value whose shape the specification does not allow."""
    shapes = {"license": "text", "compatibility": "text", "allowed-tools": "text", "metadata": "a mapping"}
    for entry in subject.entries or ():
        wanted = shapes.get(entry.key)
        suits = isinstance(entry.node, yaml.MappingNode if wanted == "a mapping" else yaml.ScalarNode)
        if wanted and not suits:
            words = f"The value of '{entry.key}' should be {wanted}. Write it as the specification has it."
            yield Remark(words, subject.main.path, entry.line)


def _missing(subject: Subject, key: str) -> Iterator[Remark]:
    entry = _entry(subject, key)
    if subject.entries is not None and (entry is None or entry.text is None):
        what = f"There is no '{key}'" if entry is None else f"The '{key}' is empty or no text"
        yield Remark(f"{what} in the frontmatter. Agents need it.", subject.main.path, entry.line if entry else 1)


def _too_long(subject: Subject, key: str, limit: int) -> Iterator[Remark]:
    entry = _entry(subject, key)
    if entry and entry.text and len(entry.text) > limit:
        words = f"The {key} has {len(entry.text)} characters; {limit} are allowed. Shorten it."
        yield Remark(words, subject.main.path, entry.line)


def _entry(subject: Subject, key: str) -> Entry | None:
    return next((entry for entry in subject.entries or () if entry.key == key), None)
