"""`skillsv lint`: lists the defects of skills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from skillsv.cli.flags import CompileFlags, Json
from skillsv.cli.printing import Line, deliver, json_text, print_lines, refuse_inside, say
from skillsv.errors import SettingsError, SkillError
from skillsv.model.skill import Finding, Severity
from skillsv.version import __version__

SCHEMA = "skillsv.lint/1"
"""Schema of the JSON result."""


RULES_SCHEMA = "skillsv.lint-rules/1"
"""Schema of the JSON list of checks."""

_FAILING: dict[str, frozenset[Severity]] = {
    "error": frozenset({Severity.ERROR}),
    "warning": frozenset({Severity.ERROR, Severity.WARNING}),
    "note": frozenset(Severity),
    "never": frozenset(),
}
"""The severities that give exit code 1, by the value of --fail-on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintChoice:
    """What is checked and repaired: codes to ignore, whether every check is made, whether files are repaired."""

    ignore: tuple[str, ...] = ()
    every: bool = False
    fix: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedSkill:
    """The findings in one skill. `folder` goes before the file of each finding."""

    path: str
    name: str
    folder: str
    findings: tuple[Finding, ...]


def lint(
    skills: Annotated[
        list[Path] | None, Parameter(help="Skill folders, single Markdown files, or folders of skills.")
    ] = None,
    /,
    *,
    fail_on: Annotated[
        Literal["error", "warning", "note", "never"], Parameter(help="Least severity that gives exit code 1.")
    ] = "error",
    ignore: Annotated[str, Parameter(help="Codes to leave out (comma list).")] = "",
    every: Annotated[
        bool, Parameter(name="--all", negative=(), help="Also the checks that are off by default.")
    ] = False,
    fix: Annotated[bool, Parameter(negative=(), help="Repair what is mechanical, in the files.")] = False,
    rules: Annotated[bool, Parameter(negative=(), help="List the checks with examples, and end.")] = False,
    format: Annotated[  # noqa: A002 - the flag's name
        Literal["text", "json", "sarif"] | None, Parameter(help="Form of the result [text].")
    ] = None,
    json: Json = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write to this file, not stdout.")] = None,
    flags: CompileFlags | None = None,
) -> int:
    """skillsv lint skills/ --fail-on warning --ignore long-body --format sarif -o lint.sarif

    List the defects of skills: dangling links, dead files, broken fences, frontmatter that agents refuse.
    Exit code 1 if there is an error (or what --fail-on says), 2 if a path holds no skill.
    """
    if json and format not in {None, "json"}:
        raise SettingsError(f"--json and --format {format} ask for two results at once.", hint="Give one of them.")
    form = "json" if json else format or "text"
    if rules:
        return _list_rules(form, output)
    if not skills:
        raise SettingsError("lint needs a skill.", hint="Give a skill folder, or a folder of skills.")
    for skill in skills:
        refuse_inside(output, skill)
    choice = LintChoice(ignore=tuple(word.strip() for word in ignore.split(",") if word.strip()), every=every, fix=fix)
    linted, missing = _lint_all(skills, flags or CompileFlags(), choice)
    if form == "text" and output is None:
        print_lines(_lines(linted))
    else:
        deliver(_document(linted, form), output)
    if missing:
        return SkillError.exit_code
    failing = _FAILING[fail_on]
    return int(any(finding.severity in failing for skill in linted for finding in skill.findings))


def _list_rules(form: str, output: Path | None) -> int:
    """Print the table of checks."""
    from skillsv.compiler.lint import lint_rules

    found = lint_rules()
    if form == "json":
        deliver(json_text({"schema": RULES_SCHEMA, "rules": [asdict(rule) for rule in found]}), output)
        return 0
    lines = []
    for rule in found:
        marks = [
            rule.severity or "compiler",
            *(["off"] if not rule.usual else []),
            *(["--fix"] if rule.fixable else []),
        ]
        lines.append(f"{rule.code:<22} {', '.join(marks):<15} {rule.title}. Example: {rule.example}\n")
    deliver("".join(lines), output)
    return 0


def _lint_all(skills: Sequence[Path], flags: CompileFlags, choice: LintChoice) -> tuple[list[LintedSkill], int]:
    """The findings of each skill, and the number of paths without a skill: one of those does not stop the others."""
    from skillsv.api.lint import find_skills, fix
    from skillsv.api.lint import lint as lint_skill
    from skillsv.api.skill import compile as compile_skill

    linted: list[LintedSkill] = []
    missing = 0
    for path in (skill for given in skills for skill in find_skills(given)):
        try:
            for file in fix(path, ignore=choice.ignore, **flags.given()) if choice.fix else ():
                say(f"Fixed {path / file if path.is_dir() else path}.")
            skill = compile_skill(path, **flags.given())
        except SkillError as error:
            say(f"skillsv: {error}")
            missing += 1
            continue
        root = skill.compiled.skill.root
        linted.append(
            LintedSkill(
                path=str(path),
                name=skill.name,
                folder="" if root == Path() else f"{root}/",
                findings=lint_skill(skill, every=choice.every, ignore=choice.ignore),
            )
        )
    return linted, missing


def _document(linted: Sequence[LintedSkill], form: str) -> str:
    """The result as the text of one file."""
    if form == "json":
        return json_text(_as_json(linted))
    if form == "sarif":
        from skillsv.compiler.lint import finding_titles
        from skillsv.report.compiled_json import sarif

        findings = ((skill.folder, finding) for skill in linted for finding in skill.findings)
        return json_text(sarif(findings, finding_titles(), version=__version__))
    return "".join("".join(text for text, _ in line) + "\n" for line in _lines(linted))


def _as_json(linted: Sequence[LintedSkill]) -> dict[str, Any]:
    from skillsv.report.compiled_json import finding_json

    return {
        "schema": SCHEMA,
        "skills": [
            {"path": skill.path, "name": skill.name, "findings": [finding_json(finding) for finding in skill.findings]}
            for skill in linted
        ],
        "counts": _counts(linted),
    }


def _lines(linted: Sequence[LintedSkill]) -> Iterator[Line]:
    from skillsv.model.format import plural
    from skillsv.report.outline import finding_lines

    for skill in linted:
        yield from finding_lines(skill.findings, skill.folder)
    counts = ", ".join(plural(count, severity) for severity, count in _counts(linted).items())
    yield ((f"{plural(len(linted), 'skill')}: {counts}", "bold"),)


def _counts(linted: Sequence[LintedSkill]) -> dict[str, int]:
    counted = Counter(finding.severity for skill in linted for finding in skill.findings)
    return {str(severity): counted[severity] for severity in Severity}
