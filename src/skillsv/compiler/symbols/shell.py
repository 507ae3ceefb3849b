"""Shell: functions and upper-case variables, by the tree-sitter grammar of bash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsv.compiler.symbols.definitions import CONSTANT, Definitions, parse, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_GRAMMAR = "tree_sitter_bash"
_MAY_DEFINE = re.compile(r"\w+=|\w+[ \t]*\(\)|^[ \t]*function\b", re.MULTILINE)
_MAY_USE = re.compile(r"\$|^[ \t]*[A-Za-z_]\w*", re.MULTILINE)
_ENVIRONMENT = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "PWD",
        "OLDPWD",
        "SHELL",
        "LANG",
        "LC_ALL",
        "TERM",
        "TMPDIR",
        "EDITOR",
        "IFS",
        "PYTHONPATH",
    ],
)
"""Variables that every shell has: to set one defines nothing for other units."""

_PLACEHOLDER = re.compile(
    r"<[^<>]*>|\byour\b|\byour[-_ ]|x{3,}|\.\.\.|…|change[-_]?me|replace[-_]|^\s*$", re.IGNORECASE
)
_OUTER = {"program", "list", "declaration_command", "redirected_statement", "pipeline"}
"""Nodes around an assignment that is still at the top level."""


def define_shell(code: str) -> Definitions:
    """Functions and upper-case variables; lower-case variables; `export KEY="<your key>"` defines nothing."""
    if not _MAY_DEFINE.search(code):
        return Definitions()
    names: dict[str, int] = {}
    variables: dict[str, int] = {}
    for node in walk(parse(code, _GRAMMAR)):
        name = text_of(node.child_by_field_name("name"))
        if node.type == "function_definition":
            names.setdefault(name, node.start_point[0])
        elif (
            node.type == "variable_assignment"
            and name not in _ENVIRONMENT
            and _is_outermost(node)
            and not _is_placeholder_export(node)
        ):
            (names if CONSTANT.fullmatch(name) else variables).setdefault(name, node.start_point[0])
    return Definitions(names=names, variables=variables)


def use_shell(code: str) -> set[str]:
    """Variables that are expanded and commands that are called, unless the code defines them itself."""
    if not _MAY_USE.search(code):
        return set()
    used: set[str] = set()
    bound: set[str] = set()
    for node in walk(parse(code, _GRAMMAR)):
        if node.type == "variable_name":
            parent_type = node.parent.type if node.parent else ""
            (bound if parent_type in {"variable_assignment", "for_statement"} else used).add(text_of(node))
        elif node.type == "command_name":
            used.add(text_of(node))
        elif node.type == "function_definition":
            bound.add(text_of(node.child_by_field_name("name")))
    return used - bound


def define_session(code: str) -> Definitions:
    """The definitions of a recorded session: lines after the prompt `$` are commands, the others are output."""
    return define_shell(_commands(code))


def use_session(code: str) -> set[str]:
    """The uses of a recorded session."""
    return use_shell(_commands(code))


def _commands(session: str) -> str:
    """The commands of a session, on the same lines as before."""
    return "\n".join(line[2:] if line.startswith("$ ") else "" for line in session.split("\n"))


def is_placeholder(value: str) -> bool:
    """Whether a value only marks where readers have to put their own."""
    return _PLACEHOLDER.search(value.strip("\"'")) is not None


def _is_placeholder_export(node: Node) -> bool:
    """Whether an assignment is like `export KEY="<your key>"`, which other units cannot use."""
    parent = node.parent
    is_export = parent is not None and parent.type == "declaration_command" and text_of(parent).startswith("export")
    return is_export and is_placeholder(text_of(node.child_by_field_name("value")))


def _is_outermost(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type in _OUTER:
        parent = parent.parent
    return parent is None
