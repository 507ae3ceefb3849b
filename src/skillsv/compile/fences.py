"""Prose and fenced code of one unit, kept apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent

_OPEN = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+|~{3,}+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """A fenced block: its language in lower case, its code, and the line of the code's start within the unit."""

    language: str
    code: str
    line: int


def split_fences(text: str) -> tuple[str, tuple[CodeBlock, ...]]:
    """The text with fenced lines blanked (so that line numbers stay), and the fenced blocks."""
    if "```" not in text and "~~~" not in text:
        return text, ()
    prose: list[str] = []
    blocks: list[CodeBlock] = []
    code: list[str] = []
    fence = language = ""
    for number, line in enumerate(text.split("\n")):
        if not fence:
            opening = _OPEN.match(line)
            if opening is None or (opening[1][0] == "`" and "`" in line[opening.end() :]):
                prose.append(line)
                continue
            fence, language, code = opening[1], line[opening.end() :].strip(), []
            start = number + 1
        elif _closes(line, fence):
            blocks.append(_block(language, code, start))
            fence = ""
        else:
            code.append(line)
        prose.append("")
    if fence:
        blocks.append(_block(language, code, start))
    return "\n".join(prose), tuple(blocks)


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip(" \t>")
    return len(stripped) >= len(fence) and stripped == fence[0] * len(stripped)


def _block(language: str, code: list[str], line: int) -> CodeBlock:
    words = language.replace(",", " ").replace("{", " ").replace("}", " ").split()
    name = words[0].lstrip(".").lower() if words else ""
    return CodeBlock(language=name, code=dedent("\n".join(code)), line=line)
