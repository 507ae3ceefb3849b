"""`skillsv lint`: defects that an author can find without running anything. The table of checks is in `checks.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from skillsv.compiler.lint.checks import CHECKS, COMPILER_TITLES, Check
from skillsv.compiler.lint.subject import Subject
from skillsv.compiler.options import CompileOptions
from skillsv.model.skill import CompiledSkill, Finding

__all__ = ["CHECKS", "Check", "finding_titles", "lint_compiled", "lint_skill"]


def lint_skill(path: Path, options: CompileOptions | None = None) -> tuple[Finding, ...]:
    """All findings for the skill at this path: those of the compiler and those of the checks."""
    from skillsv.compiler import compile_skill

    return lint_compiled(compile_skill(path, options or CompileOptions()))


def lint_compiled(compiled: CompiledSkill) -> tuple[Finding, ...]:
    """All findings for a compiled skill, without repetitions: the main file first, then by file and line."""
    subject = Subject(compiled=compiled)
    findings: list[Finding] = []
    replaced: set[str] = set()
    for check in CHECKS:
        remarks = tuple(check.find(subject))
        findings += [
            Finding(code=check.code, severity=check.severity, message=message, file=file, line=line)
            for message, file, line in remarks
        ]
        if remarks:
            replaced.add(check.replaces)
    findings += [finding for finding in compiled.findings if finding.code not in replaced]
    return tuple(dict.fromkeys(sorted(findings, key=lambda finding: _sort_key(finding, compiled.skill.main))))


def finding_titles() -> Mapping[str, str]:
    """The title of each code, the compiler's own included."""
    return {**COMPILER_TITLES, **{check.code: check.title for check in CHECKS}}


def _sort_key(finding: Finding, main: str) -> tuple[bool, str, int, str, str]:
    return finding.file != main, finding.file, finding.line, finding.code, finding.message
