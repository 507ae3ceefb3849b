"""Python, by its own parser: `ast` for definitions and imports, `symtable` for free names."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings

from skillsv.compiler.symbols.definitions import CONSTANT, Definitions

_BUILTINS = frozenset(dir(builtins))
_UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors of the parser for text that is not Python, contains NUL, or is nested too deeply."""


def define_python(code: str) -> Definitions:
    """Top-level functions, classes and constants; plain variables; imported modules by dotted name."""
    tree = parse_python(code)
    if tree is None:
        return Definitions()
    names: dict[str, int] = {}
    variables: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.setdefault(node.name, node.lineno - 1)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            _add_assigned(node, names, variables)
    return Definitions(names=names, variables=variables, modules=tuple(_modules(tree)))


def use_python(code: str) -> set[str]:
    """Names that the code reads and does not bind itself."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(code, "unit", "exec")
    except _UNPARSABLE:
        return set()
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    free: set[str] = set()
    pending: list[symtable.SymbolTable] = [top]
    while pending:
        table = pending.pop()
        pending.extend(table.get_children())
        free.update(
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (table is top or symbol.is_global())
        )
    return free - bound - _BUILTINS


def parse_python(code: str) -> ast.Module | None:
    """The syntax tree of some code, without warnings; None where it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except _UNPARSABLE:
        return None


def _add_assigned(node: ast.Assign | ast.AnnAssign, names: dict[str, int], variables: dict[str, int]) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(part, ast.Name):
                (names if CONSTANT.fullmatch(part.id) else variables).setdefault(part.id, node.lineno - 1)


def _modules(tree: ast.Module) -> list[tuple[str, int]]:
    """The imported modules with their lines; `from a import b` may import the module `a.b`."""
    modules: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.extend((alias.name, node.lineno - 1) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            modules.append((module, node.lineno - 1))
            separator = "" if module.endswith(".") or not module else "."
            modules.extend((f"{module}{separator}{alias.name}", node.lineno - 1) for alias in node.names)
    return modules
