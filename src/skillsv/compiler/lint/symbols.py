"""Checks of Python names: imports and uses of names that nothing in the skill defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skillsv.compiler.lint.subject import Document, Remark, Subject
from skillsv.compiler.paths import module_resource
from skillsv.compiler.symbols.definitions import CONSTANT
from skillsv.compiler.symbols.python import parse_python, use_python
from skillsv.model.skill import FileRole, Skill

_PYTHON = frozenset({"python", "py", "python3"})


def missing_import(subject: Subject) -> Iterator[Remark]:
    """`from helper import name` where helper.py lies in the skill and defines no such name."""
    sources = _python_files(subject.compiled.skill)
    if not sources:
        return
    names_of: dict[str, frozenset[str] | None] = {}
    for path, line, code in (*_all_blocks(subject), *((path, 1, code) for path, code in sources.items())):
        for node in _imports(code):
            module = "." * node.level + (node.module or "")
            target = module_resource(module, "python", path, subject.draft.resources)
            if target is None or target.file == path:
                continue
            if target.file not in names_of:
                names_of[target.file] = _module_names(sources.get(target.file, ""))
            names = names_of[target.file]
            for alias in node.names:
                if names is not None and alias.name not in names | {"*"}:
                    message = (
                        f"'{alias.name}' is imported from {target.file}, which does not define it. Correct the name."
                    )
                    yield Remark(message, path, line + node.lineno - 1)


def undefined_symbol(subject: Subject) -> Iterator[Remark]:
    """A function or constant that the main file's Python uses, and that no code of the skill defines or imports.

    Only the main file is checked: reference files often hold incomplete sketches.
    """
    blocks = list(_all_blocks(subject))
    known = {name for code in _python_files(subject.compiled.skill).values() for name in _bound_names(code)}
    known.update(name for _, _, code in blocks for name in _bound_names(code))
    for path, line, code in _python_blocks(subject.main):
        for name, offset in _undefined_uses(code, known):
            message = (
                f"'{name}' is used here and defined nowhere in the skill. Define it, import it, or say what it is."
            )
            yield Remark(message, path, line + offset)


def _python_files(skill: Skill) -> dict[str, str]:
    return {
        file.path: file.data.decode("utf-8", errors="replace")
        for file in skill.files
        if file.role is FileRole.RESOURCE and file.path.endswith(".py") and file.data is not None
    }


def _all_blocks(subject: Subject) -> Iterator[tuple[str, int, str]]:
    """File, first line (1-based) and code of each fenced Python block."""
    for document in subject.documents:
        yield from _python_blocks(document)


def _python_blocks(document: Document) -> Iterator[tuple[str, int, str]]:
    for fence in document.fences:
        if fence.language in _PYTHON:
            yield document.path, fence.first + 2, fence.code(document.lines)


def _imports(code: str) -> list[ast.ImportFrom]:
    tree = parse_python(code) if "import" in code else None
    return [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def _undefined_uses(code: str, known: set[str]) -> Iterator[tuple[str, int]]:
    """Free names that are called or written in CONSTANT_CASE, with the line (0-based) of their first use."""
    free = use_python(code) - known
    tree = parse_python(code) if free else None
    if tree is None or "*" in _bound_names(code):
        return
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    first: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in free and (node.id in called or CONSTANT.fullmatch(node.id)):
            first[node.id] = min(node.lineno - 1, first.get(node.id, node.lineno))
    yield from first.items()


def _module_names(code: str) -> frozenset[str] | None:
    """The names that a module defines; None where they are unknown (`import *`, `__getattr__`, not Python)."""
    tree = parse_python(code)
    if tree is None:
        return None
    names: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        names.update(_binds(node))
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))
    return None if names & {"*", "__getattr__"} else frozenset(names)


def _bound_names(code: str) -> set[str]:
    """Every name that the code binds anywhere, since a snippet often continues another one."""
    tree = parse_python(code)
    return set() if tree is None else {name for node in ast.walk(tree) for name in _binds(node)}


def _binds(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in aliases)
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.arg(arg=name):
            yield name
