"""From an import statement to the resource file it loads."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Mapping

from skillsv.compile.draft import DraftUnit

_SCRIPT_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", ".jsx", ".tsx", "/index.js", "/index.ts")


def module_resource(written: str, family: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """The resource that an import in `file` loads, if it is one of the skill's own."""
    if family == "javascript":
        return _script(written, file, resources)
    return _python(written, file, resources)


def _script(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    base = posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
    return next((resources[base + ending] for ending in _SCRIPT_ENDINGS if base + ending in resources), None)


def _python(written: str, file: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    level = len(written) - len(written.lstrip("."))
    path = written.lstrip(".").replace(".", "/")
    if not path:
        return None
    folder = posixpath.dirname(file)
    for _ in range(level - 1):
        folder = posixpath.dirname(folder)
    for base in dict.fromkeys((folder, "") if not level else (folder,)):
        for ending in (".py", "/__init__.py"):
            found = resources.get(posixpath.join(base, path) + ending)
            if found is not None:
                return found
    return None if level or "/" in path else _only_one(path, resources)


def _only_one(stem: str, resources: Mapping[str, DraftUnit]) -> DraftUnit | None:
    """A module that exactly one resource could be, and that Python does not bring itself."""
    if stem in sys.stdlib_module_names:
        return None
    found = [unit for path, unit in resources.items() if posixpath.basename(path) == f"{stem}.py"]
    return found[0] if len(found) == 1 else None
