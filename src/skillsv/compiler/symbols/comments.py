"""Code without its comments and docstrings: what they name is said to a reader, and not used by the program."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from skillsv.compiler.symbols.definitions import parse, walk
from skillsv.compiler.symbols.python import parse_python

_NOT_LINE_END = re.compile(r"[^\n]")
_NOT_LINE_END_BYTES = re.compile(rb"[^\n]")

_GRAMMARS = {
    "shell": ("tree_sitter_bash", "language"),
    "javascript": ("tree_sitter_typescript", "language_tsx"),
}
"""The grammar that finds the comments of a language family; Python has its own tokenizer."""


def without_comments(code: str, family: str) -> str:
    """The code with comments and docstrings replaced by spaces; every line stays where it is."""
    if family == "python":
        return _blank(code, _python_comments(code)) if "#" in code or '"' in code or "'" in code else code
    data = code.encode("utf-8", errors="replace")
    for node in walk(parse(code, *_GRAMMARS[family])) if "#" in code or "/" in code else ():
        if node.type == "comment":
            blanks = _NOT_LINE_END_BYTES.sub(b" ", data[node.start_byte : node.end_byte])
            data = data[: node.start_byte] + blanks + data[node.end_byte :]
    return data.decode("utf-8", errors="replace")


def _blank(code: str, spans: Iterator[tuple[tuple[int, int], tuple[int, int]]]) -> str:
    """The code with the spans (line, column) to (line, column) replaced by spaces."""
    lines = code.split("\n")
    for (first, start), (last, end) in spans:
        for number in range(first, last + 1):
            line = lines[number - 1]
            begin = start if number == first else 0
            stop = end if number == last else len(line)
            lines[number - 1] = line[:begin] + _NOT_LINE_END.sub(" ", line[begin:stop]) + line[stop:]
    return "\n".join(lines)


def _python_comments(code: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Comments, and strings that are statements of their own. Code that is not Python has none."""
    tree = parse_python(code)
    if tree is None:
        return
    lines = code.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            last = node.end_lineno or node.lineno
            start, end = (
                len(lines[number - 1].encode()[:offset].decode(errors="replace"))
                for number, offset in ((node.lineno, node.col_offset), (last, node.end_col_offset or 0))
            )
            yield (node.lineno, start), (last, end)
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                yield token.start, token.end
    except (tokenize.TokenError, SyntaxError):
        return
