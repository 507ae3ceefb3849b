"""`skillsv lint`: defects that an author can find without running anything. The table of checks is in `checks.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skillsv.compiler.lint.checks import CHECKS, COMPILER_EXAMPLES, COMPILER_TITLES, Check
from skillsv.compiler.lint.fixes import fixed_files
from skillsv.compiler.lint.subject import Subject
from skillsv.model.skill import CompiledSkill, Finding

__all__ = ["CHECKS", "Check", "LintRule", "finding_titles", "fixed_files", "lint_compiled", "lint_rules"]


def lint_compiled(compiled: CompiledSkill, *, every: bool = False) -> tuple[Finding, ...]:
    """All findings for a compiled skill, without repetitions: the main file first, then by file and line.

    `every`: also the checks that are not usual.
    """
    subject = Subject(compiled=compiled)
    findings: list[Finding] = []
    replaced: set[str] = set()
    for check in CHECKS:
        if not (every or check.usual):
            continue
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """One code of a finding, as `lint --rules` lists it. `severity` is empty where the compiler finds it."""

    code: str
    severity: str
    title: str
    example: str
    usual: bool = True
    fixable: bool = False


def lint_rules() -> tuple[LintRule, ...]:
    """Every code that a finding may have: those of the checks, then those of the compiler itself."""
    checks = [
        LintRule(
            code=check.code,
            severity=str(check.severity),
            title=check.title,
            example=check.example,
            usual=check.usual,
            fixable=check.fixable,
        )
        for check in CHECKS
    ]
    known = {check.code for check in CHECKS}
    own = [
        LintRule(code=code, severity="", title=title, example=COMPILER_EXAMPLES[code])
        for code, title in COMPILER_TITLES.items()
        if code not in known
    ]
    return (*checks, *own)


def _sort_key(finding: Finding, main: str) -> tuple[bool, str, int, str, str]:
    return finding.file != main, finding.file, finding.line, finding.code, finding.message
