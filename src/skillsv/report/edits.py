"""A shorter skill beside the skill as written: the merged diff of each file, and the patch for `git apply`."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skillsv.model.edit import PruneStep
from skillsv.model.format import count, plural, points
from skillsv.report.escape import clip, escape_text, is_binary
from skillsv.report.line_names import LineNames

NO_NEWLINE = "\\ No newline at end of file\n"
"""The line that patch programs expect after a last line without a newline."""

_CONTEXT = 3
"""Unchanged lines around a change, to show where it is."""

_SHOWN_WIDTH = 2_000
"""Characters of a line that the page shows."""

_SHOWN_LINES = 3_000
"""Lines of one file that the page shows."""

MOST_BYTES = 500_000
"""Bytes of the shorter skill or of the patch that a page carries for copying and saving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterSkill:
    """A shorter version: files before and after by path, the removals one by one, and the lengths.

    `full_score` is the score of the skill as written on the tasks that it was valued on. `confirmed`: the proof on
    held-out tasks is of exactly this version.
    """

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    main: str
    steps: tuple[PruneStep, ...]
    tokens_before: int
    tokens_after: int
    full_score: float | None = None
    confirmed: bool = False

    @property
    def removed(self) -> tuple[str, ...]:
        """All removed units, in the order of removal."""
        return tuple(unit for step in self.steps for unit in step.removed)

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of the files that differ."""
        paths = sorted(self.before.keys() | self.after.keys())
        return tuple(path for path in paths if self.before.get(path) != self.after.get(path))

    @property
    def share_removed(self) -> float:
        """The share of the tokens that is removed."""
        return 1 - self.tokens_after / self.tokens_before if self.tokens_before else 0.0

    @property
    def expected_change(self) -> float:
        """The change of the score that the values predict, a share of 1."""
        return -self.steps[-1].lost_value if self.steps else 0.0

    @property
    def patch(self) -> bytes | None:
        """The patch over all files; None where a file that is no text changes: a patch cannot hold it."""
        if any(is_binary(files.get(path, b"")) for path in self.changed for files in (self.before, self.after)):
            return None
        return "".join(patch_lines(self.before, self.after)).encode("utf-8", errors="surrogateescape")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a diff: its mark (`-`, `+`, space, or `@` for left-out lines), its number, its text, and a note."""

    mark: str
    number: int | None
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """The changes of one file, in document order. `removed` counts blank lines, too."""

    path: str
    lines: tuple[DiffLine, ...]
    removed: int
    added: int
    removed_blank: int = 0

    @property
    def summary(self) -> str:
        """How many lines change: `3 lines and 1 blank line deleted, 2 lines added`."""
        deleted = [plural(self.removed - self.removed_blank, "line")] if self.removed > self.removed_blank else []
        deleted += [plural(self.removed_blank, "blank line")] if self.removed_blank else []
        parts = [f"{' and '.join(deleted)} deleted"] if deleted else []
        return ", ".join([*parts, f"{plural(self.added, 'line')} added"] if self.added else parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalView:
    """One removal, and the running totals after it: tokens left, and the score that the values predict."""

    number: int
    units: tuple[str, ...]
    words: str
    tokens: str
    score: str


def removal_views(shorter: ShorterSkill, names: LineNames) -> list[RemovalView]:
    """The removals in their order, with the totals after each."""
    full = shorter.full_score
    return [
        RemovalView(
            number=number,
            units=step.removed,
            words=names.words(step.removed[0]) if len(step.removed) == 1 else names.lines(step.removed),
            tokens=count(step.tokens_left),
            score=points(None if full is None else full - step.lost_value, signed=False),
        )
        for number, step in enumerate(shorter.steps, start=1)
    ]


def file_diffs(shorter: ShorterSkill, notes: Mapping[tuple[str, int], str]) -> list[FileDiff]:
    """The merged diff of each file that changes. `notes` are shown beside removed lines, by path and line number."""
    return [_file_diff(path, shorter.before.get(path), shorter.after.get(path), notes) for path in shorter.changed]


def _file_diff(path: str, old: bytes | None, new: bytes | None, notes: Mapping[tuple[str, int], str]) -> FileDiff:
    shown = escape_text(path)
    if is_binary(old or b"") or is_binary(new or b""):
        line = DiffLine(mark="-" if new is None else " ", number=None, text="(not text)", note=notes.get((path, 1), ""))
        return FileDiff(path=shown, lines=(line,), removed=1, added=0)
    before, after = _text_lines(old), _text_lines(new)
    lines: list[DiffLine] = []
    groups = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_grouped_opcodes(_CONTEXT)
    last = 0
    for group in groups:
        if group[0][1] > last:
            lines.append(DiffLine(mark="@", number=None, text=f"{count(group[0][1] - last)} lines as before"))
        for tag, old_first, old_last, new_first, new_last in group:
            old_mark = " " if tag == "equal" else "-"
            lines += [
                DiffLine(mark=old_mark, number=number + 1, text=clip(before[number], _SHOWN_WIDTH),
                         note=notes.get((path, number + 1), "") if old_mark == "-" else "")
                for number in range(old_first, old_last)
            ]  # fmt: skip
            if tag != "equal":
                added = range(new_first, new_last)
                lines += [DiffLine(mark="+", number=None, text=clip(after[number], _SHOWN_WIDTH)) for number in added]
        last = group[-1][2]
    if len(before) > last:
        lines.append(DiffLine(mark="@", number=None, text=f"{count(len(before) - last)} lines as before"))
    return FileDiff(
        path=shown,
        lines=tuple(lines[:_SHOWN_LINES]),
        removed=sum(line.mark == "-" for line in lines),
        added=sum(line.mark == "+" for line in lines),
        removed_blank=sum(line.mark == "-" and not line.text.strip() for line in lines),
    )


def _text_lines(data: bytes | None) -> list[str]:
    return [] if data is None else escape_text(data.decode("utf-8", errors="replace")).removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """Bytes that a button of the page copies or saves, as base64. `copied`: they are text, so they can be copied."""

    name: str
    base64: str
    copied: bool


def saved_file(name: str, data: bytes | None) -> SavedFile | None:
    """The bytes for a button; None where there are none, or too many for a page."""
    if data is None or len(data) > MOST_BYTES:
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        copied = False
    else:
        copied = not is_binary(data)
    return SavedFile(name=name, base64=base64.b64encode(data).decode("ascii"), copied=copied)


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
