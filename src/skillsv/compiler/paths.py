"""Resources in a unit's text: by path, by the command that runs them, by import. Rules and lint checks share them."""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skillsv.compiler.draft import Draft, DraftUnit
from skillsv.compiler.symbols import language_of_file
from skillsv.compiler.symbols.comments import without_comments
from skillsv.model.skill import UnitKind

_PATH_TOKEN = re.compile(r"[A-Za-z0-9_.@+~/{}$%-]+")
_USUAL_PATH = re.compile(r"[A-Za-z0-9_.@+~/-]+")
_PATH_PREFIX = re.compile(r"(?:\./|\$?\{[^{}]*\}/|\$\w+/|%\w+%/)+")

MODULE_CALL = re.compile(
    r"(?:(?P<program>\b(?:python[\d.]*|py|pypy3?|uv run|executable)\b)[^\n|;&`]{0,80}?)?"
    r"(?<![\w-])-m[\"']?(?:,\s*|[ \t]+)[\"']?(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
)
SCRIPT_CALL = re.compile(
    r"(?<![\w./-])(?P<program>python[\d.]*|py|uv run(?: python[\d.]*)?|node|bun(?: run)?|deno run|tsx|ts-node"
    r"|bash|sh|zsh|source)"
    r"[ \t]+(?:--?[\w-]+[ \t]+)*(?P<script>[\w.@+~/{}$%-]*[\w}])"
)

_TREE_LINE = re.compile(r"^[^\n├└]*[├└]──.*$", re.MULTILINE)

_JAVASCRIPT_CALL = ("", ".js", ".mjs", ".cjs", ".ts", ".tsx", "/index.js", "/index.ts")
_PYTHON_CALL = ("", ".py", "/__main__.py")
_SHELL_CALL = ("", ".sh", ".bash")

_CALL_ENDINGS = {
    **dict.fromkeys(("python", "py", "uv"), _PYTHON_CALL),
    **dict.fromkeys(("node", "bun", "deno", "tsx", "ts-node"), _JAVASCRIPT_CALL),
    **dict.fromkeys(("bash", "sh", "zsh", "source"), _SHELL_CALL),
}
"""What a command may leave out at the end of the path of what it runs, by program, in the order tried."""

_GENERIC_STEMS = {"index", "readme", "__init__", "__main__", "main", "changelog", "contributing", "setup", "config"}
"""Stems of file names that many projects have: without a folder, such a name points at no file in particular."""

_GENERIC_NAMES = {"package.json", "tsconfig.json", "requirements.txt", "pyproject.toml", "skill.md"}
"""File names that many projects have."""

_FEW_NAMES = 64
"""Up to this many file names, a search for each name is faster than a look at every token of the text."""

_SCRIPT_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")
"""What JavaScript may add to the path of an import, in the order tried."""


class Mention(NamedTuple):
    """A path as written at an offset of the unit's text, and the resource it names."""

    written: str
    offset: int
    resource: DraftUnit


def text_with_names(unit: DraftUnit) -> str:
    """The text in which a name counts: code without comments, Markdown without drawings of a folder."""
    language = language_of_file(unit.file) if unit.kind is UnitKind.RESOURCE else None
    if language is not None:
        return without_comments(unit.text, language.family)
    return _TREE_LINE.sub(lambda match: " " * len(match[0]), unit.text) if "──" in unit.text else unit.text


class PathIndex:
    """Finds mentions of the skill's files: by path, or by a file name that only one of them has."""

    def __init__(self, draft: Draft) -> None:
        self._skill = draft.skill.name
        self._paths = {_normalize(path): unit for path, unit in draft.files.items()}
        names = Counter(posixpath.basename(path) for path in self._paths)
        self._basenames = sorted(names)
        self._unique_names = {
            name: unit for path, unit in self._paths.items() if names[name := posixpath.basename(path)] == 1
        }
        self._names = {name: unit for name, unit in self._unique_names.items() if _is_specific(name)}
        self._unusual_paths = [path for path in self._paths if not _USUAL_PATH.fullmatch(path)]

    def __bool__(self) -> bool:
        return bool(self._paths)

    def mentions(self, unit: DraftUnit, text: str | None = None) -> Iterator[Mention]:
        """Every resource that a unit names, once for each time it is named. `text`: the part of it to read."""
        text = _normalize(unit.text if text is None else text)
        if len(self._basenames) <= _FEW_NAMES and not any(name in text for name in self._basenames):
            return
        folder = posixpath.dirname(unit.file)
        for match in _PATH_TOKEN.finditer(text):
            written = match[0].rstrip(".-~{$%")
            if "." not in written and "/" not in written:
                continue
            resource = self._resolve(written, match.start(), text, folder)
            if resource is not None:
                yield Mention(written, match.start(), resource)
        for path in self._unusual_paths:
            for written in (path, posixpath.basename(path)):
                offset = text.find(written)
                if offset >= 0 and (written == path or written in self._names) and _starts_name(text, offset):
                    yield Mention(written, offset, self._paths[path])
                    break

    def calls(self, unit: DraftUnit, text: str) -> Iterator[Mention]:
        """Every resource that a command runs: `python -m scripts.report`, `node scripts/build`, `bash setup.sh`.

        A command needs no ending and no folder to name a file, where only one file can be meant.
        """
        folder = posixpath.dirname(unit.file)
        for match in MODULE_CALL.finditer(text) if "-m" in text else ():
            if "." in match["module"] or match["program"]:
                resource = self._module(match["module"], folder)
                if resource is not None:
                    yield Mention(f"-m {match['module']}", match.start("module"), resource)
        for match in SCRIPT_CALL.finditer(text):
            written = match["script"].rstrip(".,;:")
            token = _PATH_PREFIX.sub("", written, count=1)
            endings = _CALL_ENDINGS[match["program"].split()[0].rstrip("0123456789.")]
            paths = (posixpath.normpath(posixpath.join(base, token)) for base in (folder, "") if token)
            known = (self._paths.get(path + ending) for path in paths for ending in endings)
            resource = next((unit for unit in known if unit), None) or self._unique_names.get(token)
            if resource is not None:
                yield Mention(f"{match['program']} {written}", match.start("script"), resource)

    def _module(self, module: str, folder: str) -> DraftUnit | None:
        """The file that `python -m` runs, from the skill's folder, the unit's folder, or above the skill's folder."""
        parts = module.split(".")
        names = ["/".join(parts)]
        if len(parts) > 1 and parts[0] == self._skill.replace("-", "_"):
            names.append("/".join(parts[1:]))
        for name in names:
            for base in dict.fromkeys(("", folder)):
                for ending in (".py", "/__main__.py", "/__init__.py"):
                    resource = self._paths.get(posixpath.normpath(posixpath.join(base, name)) + ending)
                    if resource is not None:
                        return resource
        return None if len(parts) > 1 else _unique_module(module, self._paths)

    def _resolve(self, written: str, start: int, text: str, folder: str) -> DraftUnit | None:
        before = text[start - 1] if start else " "
        if before == "*" and start > 1 and (text[start - 2].isalnum() or text[start - 2] in "/_.-"):
            return None  # the end of a glob
        token = written[1:] if before == ">" and written.startswith("/") else written  # <skill-dir>/scripts/run.py
        token = _PATH_PREFIX.sub("", token, count=1) if _PATH_PREFIX.match(token) else token
        if not token or token.startswith("/") or token.endswith("/"):
            return self._below_skill(written)
        return (
            self._paths.get(posixpath.normpath(posixpath.join(folder, token)))
            or self._paths.get(posixpath.normpath(token))
            or self._names.get(token)
            or self._below_skill(token)
        )

    def _below_skill(self, token: str) -> DraftUnit | None:
        """The resource of a path that contains the skill's own folder: `.claude/skills/NAME/scripts/run.py`."""
        _, separator, rest = f"/{token}".rpartition(f"/{self._skill}/")
        return self._paths.get(rest) if separator else None


def module_resource(written: str, family: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """The resource that an import in `file` loads, if it is one of the skill's own."""
    if family == "javascript":
        return _javascript_module(written, file, resources)
    return _python_module(written, file, resources)


def _is_specific(name: str) -> bool:
    stem = name.partition(".")[0].lower()
    return "." in name.strip(".") and stem not in _GENERIC_STEMS and name.lower() not in _GENERIC_NAMES


def _starts_name(text: str, offset: int) -> bool:
    """Whether a name at an offset is not the end of a longer one; `./`, `{dir}/` and `<dir>/` may precede it."""
    before = text[offset - 1] if offset else " "
    if before == "/":
        return offset > 1 and text[offset - 2] in ".}>"
    return not (before.isascii() and (before.isalnum() or before in "_-."))


def _normalize(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _javascript_module(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    base = posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
    return next((resources[base + ending] for ending in _SCRIPT_ENDINGS if base + ending in resources), None)


def _python_module(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    level = len(written) - len(written.lstrip("."))
    path = written.lstrip(".").replace(".", "/")
    if not path:
        return None
    folder = posixpath.dirname(file)
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    for base in dict.fromkeys((folder, "") if not level else (folder,)):
        for ending in (".py", "/__init__.py"):
            resource = resources.get(posixpath.join(base, path) + ending)
            if resource is not None:
                return resource
    return None if level or "/" in path else _unique_module(path, resources)


def _unique_module(stem: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """The only resource with this module name, unless the standard library has such a module."""
    if stem in sys.stdlib_module_names:
        return None
    candidates = [unit for path, unit in resources.items() if posixpath.basename(path) == f"{stem}.py"]
    return candidates[0] if len(candidates) == 1 else None
