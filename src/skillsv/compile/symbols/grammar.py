"""Tree-sitter grammars, loaded when first needed, and a walk that does not recurse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from tree_sitter import Language, Node, Parser


@cache
def _parser(module: str, function: str) -> Parser:
    return Parser(Language(getattr(import_module(module), function)()))


def parse(code: str, module: str, function: str = "language") -> Node:
    """The root of the syntax tree of some code, by the grammar of a wheel."""
    return _parser(module, function).parse(code.encode("utf-8", errors="replace")).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in document order."""
    todo = [node]
    while todo:
        here = todo.pop()
        yield here
        todo.extend(reversed(here.named_children))


def text_of(node: Node | None) -> str:
    """The source text of a node."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", errors="replace")
