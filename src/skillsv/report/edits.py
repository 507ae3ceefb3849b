"""Edits of a skill: the page's panel "Edits", a diff with a reason per hunk, and patches for `git apply`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillsv.model.skill import CompiledSkill, Lines
from skillsv.model.value import REMOVABLE, Action, UnitReport, Valuation
from skillsv.report.escape import clip, clip_lines, escape_text, is_binary
from skillsv.report.sentences import execution_units, unit_location

NO_NEWLINE = "\\ No newline at end of file\n"
"""The line that patch programs expect after a last line without a newline."""

_CONTEXT = 1
"""Unchanged lines around a change, to show where it is."""

_CONTEXT_WIDTH = 200
"""Characters of an unchanged line that the page shows."""

_SHOWN_LINES = 60
"""Lines of one unit that the page shows."""

_SHOWN_WIDTH = 600
"""Characters of a changed line that the page shows."""

_EDIT_MARKS = {**dict.fromkeys(REMOVABLE, "-"), Action.COMPRESS: "~"}
"""The mark of a unit's lines for each verdict that requires an edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a diff: its mark (`-`, `+`, `~`, space) and its text."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines that change together, the unit they belong to, and why."""

    place: str
    action: str
    reasons: tuple[str, ...]
    lines: tuple[DiffLine, ...]
    unit: str | None = None


def verdict_hunks(valuation: Valuation, compiled: CompiledSkill) -> list[Hunk]:
    """One hunk per unit that is to be removed (`-`) or shortened (`~`), in document order."""
    texts = {path: text.split("\n") for path, text in file_texts(compiled).items()}
    return [
        _unit_hunk(unit, _EDIT_MARKS[unit.verdict.action], texts.get(unit.file, []))
        for unit in execution_units(valuation)
        if unit.verdict.action in _EDIT_MARKS
    ]


def file_texts(compiled: CompiledSkill) -> dict[str, str]:
    """The text files of the skill by path, escaped. Binary files are left out."""
    contents = ((file.path, file.data) for file in compiled.skill.files if file.data is not None)
    return {path: escape_text(data.decode("utf-8", errors="replace")) for path, data in contents if not is_binary(data)}


def _unit_hunk(unit: UnitReport, mark: str, lines: Sequence[str]) -> Hunk:
    first, last = unit.lines.first - 1, unit.lines.last
    changed = lines[first:last] or escape_text(unit.text).split("\n")
    body = clip_lines("\n".join(changed), width=_SHOWN_WIDTH, lines=_SHOWN_LINES).split("\n")
    context = [line for line in lines[max(0, first - _CONTEXT) : first] if line.strip()]
    before = [DiffLine(mark=" ", text=clip(line, _CONTEXT_WIDTH)) for line in context]
    return Hunk(
        place=unit_location(unit),
        action=str(unit.verdict.action),
        reasons=(unit.verdict.reason,),
        lines=(*before, *(DiffLine(mark=mark, text=line) for line in body)),
        unit=unit.id,
    )


def revision_hunks(valuation: Valuation, compiled: CompiledSkill, revised: Mapping[str, bytes]) -> list[Hunk]:
    """The diff between the skill and an editor's version; each hunk names the verdicts of the units it changes."""
    old = file_texts(compiled)
    new = {path: escape_text(data.decode("utf-8", errors="replace")) for path, data in revised.items()}
    return [
        hunk
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
        for hunk in _file_hunks(path, old.get(path, ""), new.get(path, ""), valuation)
    ]


def _file_hunks(path: str, old: str, new: str, valuation: Valuation) -> list[Hunk]:
    before, after = old.split("\n"), new.split("\n")
    groups = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_grouped_opcodes(_CONTEXT)
    return [_group_hunk(path, group, before, after, valuation) for group in groups]


def _group_hunk(
    path: str,
    group: Sequence[tuple[str, int, int, int, int]],
    before: Sequence[str],
    after: Sequence[str],
    valuation: Valuation,
) -> Hunk:
    lines: list[DiffLine] = []
    for tag, old_first, old_last, new_first, new_last in group:
        if tag == "equal":
            lines += [DiffLine(mark=" ", text=clip(line, _CONTEXT_WIDTH)) for line in before[old_first:old_last]]
            continue
        lines += [DiffLine(mark="-", text=clip(line, _SHOWN_WIDTH)) for line in before[old_first:old_last]]
        lines += [DiffLine(mark="+", text=clip(line, _SHOWN_WIDTH)) for line in after[new_first:new_last]]
    changed = [Lines(op[1] + 1, op[2]) for op in group if op[0] != "equal" and op[2] > op[1]]
    touched = [
        unit for unit in valuation.units if unit.file == path and any(_overlap(unit.lines, span) for span in changed)
    ]
    reasons = tuple(f"{unit.verdict.action}: {unit.verdict.reason}" for unit in touched)
    return Hunk(
        place=f"{escape_text(path)}:{group[0][1] + 1}",
        action="revised",
        reasons=reasons or ("New text: no unit of the old skill is here.",),
        lines=tuple(lines),
        unit=touched[0].id if touched else None,
    )


def _overlap(one: Lines, other: Lines) -> bool:
    return one.first <= other.last and other.first <= one.last


def patch_lines(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[str]:
    """The lines of a unified diff over all files, for `patch -p1` and `git apply`.

    Each line has its line end; bytes that are not UTF-8 become surrogates.
    """
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
        if b"\0" in (before or b"") + (after or b""):
            yield f"Binary files {names[0]} and {names[1]} differ\n"
            continue
        for line in difflib.unified_diff(_lines(before), _lines(after), *names):
            yield from (line,) if line.endswith("\n") else (line + "\n", NO_NEWLINE)


def _lines(data: bytes | None) -> list[str]:
    # For patch programs only \n ends a line; str.splitlines would split at more characters.
    text = (data or b"").decode("utf-8", errors="surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]
