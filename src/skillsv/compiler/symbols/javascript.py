"""JavaScript and TypeScript: top-level declarations and free identifiers, by the tree-sitter grammars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from skillsv.compiler.symbols.definitions import CONSTANT, Definitions, parse, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_JAVASCRIPT = ("tree_sitter_javascript", "language")
_TYPESCRIPT = ("tree_sitter_typescript", "language_tsx")
_MAY_DEFINE = re.compile(r"\b(?:function|class|const|let|var|interface|type|enum|import|require)\b")
_IMPORT = re.compile(r"""(?:\bfrom|\brequire\(|\bimport\(?)\s*['"](\.[^'"\n]+)['"]""")
_NAMED_DECLARATIONS = {
    "function_declaration",
    "generator_function_declaration",
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "enum_declaration",
}
_TAGS = {"jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element"}
_MEMBER_ASSIGNMENT = re.compile(r"^(\w+)\.\w+\s*=(?!=)", re.MULTILINE)
_FUNCTION_VALUES = {"arrow_function", "function_expression", "function", "class"}
_NAME_NODES = {"identifier", "type_identifier", "shorthand_property_identifier"}
_BINDING_PARENTS = {
    "formal_parameters",
    "required_parameter",
    "optional_parameter",
    "rest_pattern",
    "array_pattern",
    "object_pattern",
    "import_specifier",
    "import_clause",
    "namespace_import",
    "catch_clause",
}


def _define(grammar: tuple[str, str], code: str) -> Definitions:
    """Top-level functions, classes, types and constants; plain variables; relative imports as written."""
    if not _MAY_DEFINE.search(code):
        return Definitions()
    names: dict[str, int] = {}
    variables: dict[str, int] = {}
    with_members = set(_MEMBER_ASSIGNMENT.findall(code))
    for statement in parse(code, *grammar).named_children:
        declaration = (
            statement.child_by_field_name("declaration") if statement.type == "export_statement" else statement
        )
        if declaration is None:
            continue
        if declaration.type in _NAMED_DECLARATIONS:
            names.setdefault(text_of(declaration.child_by_field_name("name")), declaration.start_point[0])
        elif declaration.type in {"lexical_declaration", "variable_declaration"}:
            _add_variables(declaration, names, variables)
            with_members.update(_find_containers(declaration))
    modules = tuple((match[1], code.count("\n", 0, match.start())) for match in _IMPORT.finditer(code))
    return Definitions(names=names, variables=variables, modules=modules, with_members=frozenset(with_members))


def _find_containers(declaration: Node) -> Iterator[str]:
    """The declared names whose value may have members: anything but a function."""
    for part in declaration.named_children:
        value = part.child_by_field_name("value")
        if value is not None and value.type not in _FUNCTION_VALUES:
            yield text_of(part.child_by_field_name("name"))


def _add_variables(declaration: Node, names: dict[str, int], variables: dict[str, int]) -> None:
    for part in declaration.named_children:
        name, value = part.child_by_field_name("name"), part.child_by_field_name("value")
        if name is None or name.type != "identifier" or value is None:
            continue
        if text_of(value).startswith(("require(", "await import(")):
            continue
        is_shared = value.type in _FUNCTION_VALUES or CONSTANT.fullmatch(text_of(name))
        (names if is_shared else variables).setdefault(text_of(name), part.start_point[0])


def _use(grammar: tuple[str, str], code: str) -> set[str]:
    """Identifiers that the code reads and does not bind itself."""
    used: set[str] = set()
    bound: set[str] = set()
    for node in walk(parse(code, *grammar)):
        if node.type == "shorthand_property_identifier_pattern":
            bound.add(text_of(node))
        elif node.type in _NAME_NODES:
            (bound if _binds(node) else used).add(text_of(node))
    return used - bound


def _use_as_container(grammar: tuple[str, str], code: str) -> set[str]:
    """Identifiers that the code reads only to name a tag by their members: `Menu` in `<Menu.Item>`."""
    containers: set[str] = set()
    others: set[str] = set()
    for node in walk(parse(code, *grammar)) if "<" in code else ():
        if node.type in _NAME_NODES:
            (containers if _is_container(node) else others).add(text_of(node))
    return containers - others


def _is_container(node: Node) -> bool:
    parent = node.parent
    tag = None if parent is None or parent.type != "member_expression" else parent.parent
    return tag is not None and tag.type in _TAGS


def _binds(node: Node) -> bool:
    """Whether an identifier is bound here: a parameter, an import or a declared name."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in _BINDING_PARENTS:
        return True
    if parent.type in _NAMED_DECLARATIONS or parent.type == "variable_declarator":
        return parent.child_by_field_name("name") == node
    return parent.type == "arrow_function" and parent.child_by_field_name("parameter") == node


define_javascript = partial(_define, _JAVASCRIPT)
define_typescript = partial(_define, _TYPESCRIPT)
use_javascript = partial(_use, _JAVASCRIPT)
use_typescript = partial(_use, _TYPESCRIPT)
containers_javascript = partial(_use_as_container, _JAVASCRIPT)
containers_typescript = partial(_use_as_container, _TYPESCRIPT)
