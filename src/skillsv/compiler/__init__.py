"""The compiler: from a skill on disk to units, dependencies and hierarchy.

To add a dependency rule, see `rules/`; another kind of Markdown block, `markdown.py`; another language for code,
`symbols/`; another check for `skillsv lint`, `lint/checks.py`.
"""

from __future__ import annotations

from skillsv.compiler.compiler import compile_files, compile_skill
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.read import read_skill, read_text
from skillsv.compiler.rules import RULES

__all__ = ["RULES", "CompileOptions", "compile_files", "compile_skill", "read_skill", "read_text"]
