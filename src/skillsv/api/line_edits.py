"""The lines that differ between two versions of a skill."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from skillsv.model.check_document import EditDocument

MOST_COMPARED = 2_000_000
"""Bytes of a file whose lines are compared; a larger one counts as one change."""


def line_edits(old: Mapping[str, bytes | None], new: Mapping[str, bytes | None]) -> Iterator[EditDocument]:
    """The changed lines of all files, without those that only add or remove blank lines."""
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path, b""), new.get(path, b"")
        if before == after and before is not None:
            continue
        if before is None or after is None or b"\0" in before + after:
            yield EditDocument(kind="file", file=path, base_lines=None, lines=None, at=1, text="", new_text="")
            continue
        yield from _file_edits(path, _lines(before), _lines(after))


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", errors="replace").splitlines()


def _file_edits(path: str, before: list[str], after: list[str]) -> Iterator[EditDocument]:
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        removed, added = before[i:j], after[k:m]
        if tag == "equal" or not any(line.strip() for line in (*removed, *added)):
            continue
        has_removed, has_added = (any(line.strip() for line in lines) for lines in (removed, added))
        yield EditDocument(
            kind="changed" if has_removed and has_added else "deleted" if has_removed else "added",
            file=path,
            base_lines=_range(before, i, j),
            lines=_range(after, k, m),
            at=max(1, min(k + 1, len(after))),
            text=_first_words(removed),
            new_text=_first_words(added),
        )


def _range(lines: list[str], start: int, end: int) -> tuple[int, int] | None:
    """First and last line that is not blank, counted from 1; None where there is none."""
    numbers = [number for number in range(start, end) if lines[number].strip()]
    return (numbers[0] + 1, numbers[-1] + 1) if numbers else None


def _first_words(lines: list[str]) -> str:
    return next((line.strip() for line in lines if line.strip()), "")[:200]
