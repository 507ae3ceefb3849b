"""Names that Python code in the skill uses and that nothing in the skill, and no import, brings."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from skillsv.compile.lint.subject import Document, Remark, Subject
from skillsv.compile.references import module_resource
from skillsv.compile.symbols.definitions import CONSTANT
from skillsv.compile.symbols.python import parse_python, use_python
from skillsv.model.skill import FileRole, Skill

_PYTHON = frozenset({"python", "py", "python3"})


def missing_import(subject: Subject) -> Iterator[Remark]:
    """`from helper import name` where helper.py lies in the skill and defines no such name."""
    sources = _python_files(subject.compiled.skill)
    if not sources:
        return
    offered: dict[str, frozenset[str] | None] = {}
    for path, line, code in (*_all_blocks(subject), *((path, 1, code) for path, code in sources.items())):
        for node in _imports(code):
            module = "." * node.level + (node.module or "")
            target = module_resource(module, "python", path, subject.draft.resources)
            if target is None or target.file == path:
                continue
            if target.file not in offered:
                offered[target.file] = _module_names(sources.get(target.file, ""))
            names = offered[target.file]
            for alias in node.names:
                if names is not None and alias.name not in names | {"*"}:
                    words = (
                        f"'{alias.name}' is imported from {target.file}, which does not define it. Correct the name."
                    )
                    yield Remark(words, path, line + node.lineno - 1)


def undefined(subject: Subject) -> Iterator[Remark]:
    """A function or constant that the main file's Python uses, and that no code of the skill defines or imports.

    Reference files are full of sketches: only what every user of the skill reads has to be whole.
    """
    blocks = list(_all_blocks(subject))
    known = {name for code in _python_files(subject.compiled.skill).values() for name in _bound_names(code)}
    known.update(name for _, _, code in blocks for name in _bound_names(code))
    for path, line, code in _python_blocks(subject.main):
        for name, offset in _open_uses(code, known):
            words = f"'{name}' is used here and defined nowhere in the skill. Define it, import it, or say what it is."
            yield Remark(words, path, line + offset)


def _python_files(skill: Skill) -> dict[str, str]:
    return {
        file.path: file.data.decode("utf-8", errors="replace")
        for file in skill.files
        if file.role is FileRole.RESOURCE and file.path.endswith(".py") and file.data is not None
    }


def _all_blocks(subject: Subject) -> Iterator[tuple[str, int, str]]:
    """File, line (1-based) and text of each fenced Python block."""
    for document in subject.documents:
        yield from _python_blocks(document)


def _python_blocks(document: Document) -> Iterator[tuple[str, int, str]]:
    for fence in document.fences:
        if fence.info.split(" ")[0].strip("{}.").lower() in _PYTHON:
            stop = fence.stop - 1 if fence.closed else fence.stop
            code = textwrap.dedent("\n".join(document.lines[fence.first + 1 : stop]))
            yield document.path, fence.first + 2, code


def _imports(code: str) -> list[ast.ImportFrom]:
    tree = parse_python(code) if "import" in code else None
    return [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def _open_uses(code: str, known: set[str]) -> Iterator[tuple[str, int]]:
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
    """Names a module offers to importers; None where that cannot be known (stars, `__getattr__`, no Python)."""
    tree = parse_python(code)
    if tree is None:
        return None
    names: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        names.update(_binds(node))
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
    return None if names & {"*", "__getattr__"} else frozenset(names)


def _bound_names(code: str) -> set[str]:
    """Every name that the code binds anywhere: a snippet often goes on from another one."""
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
