"""What an author wants to know about a skill without running anything: one check a function, one table of checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillsv.compile.lint.subject import Subject
from skillsv.compile.lint.table import CHECKS, COMPILER_TITLES, Check
from skillsv.compile.options import CompileOptions
from skillsv.model.skill import CompiledSkill, Finding

__all__ = ["CHECKS", "Check", "finding_titles", "lint_compiled", "lint_skill"]


def lint_skill(path: Path, options: CompileOptions | None = None) -> tuple[Finding, ...]:
    """Everything odd about the skill at this path: what the compiler saw, and what the checks add."""
    from skillsv.compile import compile_skill

    return lint_compiled(compile_skill(path, options or CompileOptions()))


def lint_compiled(compiled: CompiledSkill) -> tuple[Finding, ...]:
    """All findings for a compiled skill, each once, the main file first, then by file and line."""
    subject = Subject(compiled=compiled)
    found: list[Finding] = []
    replaced: set[str] = set()
    for check in CHECKS:
        remarks = tuple(check.find(subject))
        found += [
            Finding(code=check.code, severity=check.severity, message=words, file=file, line=line)
            for words, file, line in remarks
        ]
        if remarks:
            replaced.add(check.replaces)
    kept = [finding for finding in compiled.findings if finding.code not in replaced]
    return tuple(dict.fromkeys(sorted([*kept, *found], key=lambda finding: _place(finding, compiled.skill.main))))


def finding_titles() -> Mapping[str, str]:
    """What each code stands for, the compiler's own included."""
    return {**COMPILER_TITLES, **{check.code: check.title for check in CHECKS}}


def _place(finding: Finding, main: str) -> tuple[bool, str, int, str, str]:
    return finding.file != main, finding.file, finding.line, finding.code, finding.message
