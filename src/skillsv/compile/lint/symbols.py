"""Names that code in the skill takes from the skill's own modules, and that are not defined there."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from functools import cached_property
from posixpath import dirname

from skillsv.compile.lint.subject import Document, Remark, Subject
from skillsv.model.skill import FileRole, Skill

_PYTHON = frozenset({"python", "py", "python3"})


def undefined(subject: Subject) -> Iterator[Remark]:
    """`from helper import name` where helper.py lies in the skill and defines no such name."""
    modules = _Modules(subject.compiled.skill)
    if not modules.by_path:
        return
    for document in subject.documents:
        for line, code in _python_blocks(document):
            yield from _undefined_in(modules, document.path, code, line)
    for path, code in modules.sources.items():
        yield from _undefined_in(modules, path, code, 1)


def _undefined_in(modules: _Modules, path: str, code: str, line: int) -> Iterator[Remark]:
    for node in _imports(code):
        target = modules.find(node.module or "", path, node.level)
        for alias in node.names:
            if target is not None and target != path and not modules.offers(target, alias.name):
                words = f"'{alias.name}' is imported from {target}, which does not define it. Correct the name."
                yield Remark(words, path, line + node.lineno - 1)


class _Modules:
    """The Python files of a skill, and what they define at the top level."""

    def __init__(self, skill: Skill) -> None:
        self._files = {
            file.path: file.data
            for file in skill.files
            if file.role is FileRole.RESOURCE and file.path.endswith(".py") and file.data
        }
        self._offered: dict[str, frozenset[str] | None] = {}

    @cached_property
    def by_path(self) -> frozenset[str]:
        """All paths."""
        return frozenset(self._files)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The text of each module."""
        return {path: data.decode("utf-8", errors="replace") for path, data in self._files.items()}

    def find(self, module: str, importer: str, level: int) -> str | None:
        """The file a module name stands for: from the skill's root, beside the importer, or its only namesake."""
        if not module:
            return None
        tail = module.replace(".", "/") + ".py"
        base = dirname(importer)
        for _ in range(level - 1):
            base = dirname(base)
        beside = f"{base}/{tail}".lstrip("/")
        candidates = [beside] if level else [tail, beside]
        if not level and "." not in module:
            # A bare name may be a package from elsewhere: only the file beside the importer can be meant for sure.
            candidates = [beside] if importer.endswith(".py") else [tail, f"scripts/{tail}"]
        return next((path for path in candidates if path in self._files), None)

    def offers(self, path: str, name: str) -> bool:
        """Whether the module defines the name, or cannot be judged."""
        if path not in self._offered:
            self._offered[path] = _top_level_names(self.sources[path])
        names = self._offered[path]
        return names is None or name == "*" or name in names


def _python_blocks(document: Document) -> Iterator[tuple[int, str]]:
    """Line (1-based) and text of each fenced Python block."""
    for fence in document.fences:
        if fence.info.split(" ")[0].strip("{}.").lower() in _PYTHON:
            stop = fence.stop - 1 if fence.closed else fence.stop
            yield fence.first + 2, textwrap.dedent("\n".join(document.lines[fence.first + 1 : stop]))


def _imports(code: str) -> list[ast.ImportFrom]:
    if "import" not in code:
        return []
    tree = _parse(code)
    return [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def _top_level_names(code: str) -> frozenset[str] | None:
    """Names bound anywhere outside functions and classes; None where that cannot be known (stars, `__getattr__`)."""
    tree = _parse(code)
    if tree is None:
        return None
    names: set[str] = set()
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
                continue
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update((alias.asname or alias.name).split(".")[0] for alias in aliases)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
        todo.extend(ast.iter_child_nodes(node))
    return None if names & {"*", "__getattr__"} else frozenset(names)


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
