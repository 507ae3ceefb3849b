"""What code defines and uses, one module per language.

To add a language, write a module with a function that defines and one that uses, and add it to the tables below.
Grammars are loaded when the first block of their language appears.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from skillsv.compiler.symbols.definitions import Definitions
from skillsv.compiler.symbols.javascript import (
    containers_javascript,
    containers_typescript,
    define_javascript,
    define_typescript,
    use_javascript,
    use_typescript,
)
from skillsv.compiler.symbols.python import define_python, use_python
from skillsv.compiler.symbols.shell import define_session, define_shell, use_session, use_shell

__all__ = ["Definitions", "Language", "language_of", "language_of_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language that the compiler reads. Code sees the definitions of its `family`: TypeScript sees JavaScript.

    `containers` are the used names that only name tags by their members.
    """

    family: str
    define: Callable[[str], Definitions]
    use: Callable[[str], set[str]]
    containers: Callable[[str], AbstractSet[str]] = lambda _: frozenset()


_PYTHON = Language(family="python", define=define_python, use=use_python)
_SHELL = Language(family="shell", define=define_shell, use=use_shell)
_SESSION = Language(family="shell", define=define_session, use=use_session)
_JAVASCRIPT = Language(
    family="javascript", define=define_javascript, use=use_javascript, containers=containers_javascript
)
_TYPESCRIPT = Language(
    family="javascript", define=define_typescript, use=use_typescript, containers=containers_typescript
)

_BY_FENCE = {
    **dict.fromkeys(("python", "py", "python3"), _PYTHON),
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), _SHELL),
    **dict.fromkeys(("console", "shell-session", "sh-session", "shellsession"), _SESSION),
    **dict.fromkeys(("javascript", "js", "jsx", "mjs", "cjs", "node"), _JAVASCRIPT),
    **dict.fromkeys(("typescript", "ts", "tsx"), _TYPESCRIPT),
}
_BY_ENDING = {
    ".py": _PYTHON,
    **dict.fromkeys((".sh", ".bash", ".zsh"), _SHELL),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), _TYPESCRIPT),
}


def language_of(fence: str) -> Language | None:
    """The language of a fenced block by the first word of its info string."""
    return _BY_FENCE.get(fence)


def language_of_file(path: str) -> Language | None:
    """The language of a file by its ending."""
    return _BY_ENDING.get(path[path.rfind(".") :].lower()) if "." in path else None
