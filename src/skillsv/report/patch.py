"""The difference between two versions of a skill, as a patch that `patch -p1` and `git apply` take."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

NO_NEWLINE = "\\ No newline at end of file\n"


def patch_lines(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[str]:
    """Lines of a unified diff over all files, each with its line end; undecodable bytes as surrogates."""
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
    # Only \n ends a line for patch programs; str.splitlines would cut in more places.
    text = (data or b"").decode("utf-8", errors="surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]
