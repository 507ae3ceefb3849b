"""From a skill on disk to units, dependencies and hierarchy: what the paper calls the compiler."""

from __future__ import annotations

from skillsv.compile.compiler import compile_files, compile_skill
from skillsv.compile.options import CompileOptions
from skillsv.compile.read import read_skill
from skillsv.compile.rules import RULES

__all__ = ["RULES", "CompileOptions", "compile_files", "compile_skill", "read_skill"]
