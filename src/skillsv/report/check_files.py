"""The result of a check for other programs: SARIF 2.1.0 for code scanning, JUnit XML for test reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from skillsv.model.check_document import CheckDocument, CheckedSkillDocument
from skillsv.model.value import Action
from skillsv.report.check_text import edit_words
from skillsv.report.compiled_json import sarif_log, sarif_result
from skillsv.report.escape import escape_text
from skillsv.report.verdict_styles import VERDICT_STYLES

VERDICT_RULES = {
    "skill-worse": "The changed skill is worse than at the base.",
    "skill-not-shown": "The changed skill is not shown to be no worse.",
    **{
        f"unit-{action}": f"The last valuation says {action}: {style.meaning}."
        for action, style in VERDICT_STYLES.items()
        if action is not Action.KEEP
    },
}
"""The rules besides those of lint, with what each says."""

UNIT_VERDICTS = frozenset(action.value for action in Action if action is not Action.KEEP)
"""The verdicts of a valuation that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitVerdict:
    """The verdict of the last valuation on a unit that is still there, with its present lines."""

    file: str
    lines: tuple[int, int]
    action: str
    reason: str


def check_sarif(
    result: CheckDocument,
    titles: Mapping[str, str],
    verdicts: Mapping[str, Sequence[UnitVerdict]],
    *,
    version: str,
) -> dict[str, Any]:
    """Findings, verdicts of the check and verdicts of the last valuation, by the paths of the repository.

    `titles` explains the codes of findings, `verdicts` are by the path of the skill.
    """
    rows: list[dict[str, Any]] = []
    for skill in result["skills"]:
        folder = "" if skill["folder"] == "." else f"{skill['folder']}/"
        rows += [
            sarif_result(folder, one["code"], one["severity"], one["message"], one["file"], (one["line"], one["line"]))
            for one in skill["findings"]
        ]
        rows += _verdict_rows(skill, folder)
        rows += [
            sarif_result(folder, f"unit-{one.action}", "note", one.reason, one.file, one.lines)
            for one in verdicts.get(skill["path"], ())
        ]
    return sarif_log(rows, {**titles, **VERDICT_RULES}, version=version)


def _verdict_rows(skill: CheckedSkillDocument, folder: str) -> Iterable[dict[str, Any]]:
    """The verdict of a check at each changed place, as far as it is bad news."""
    if skill["outcome"] not in {"worse", "not shown"}:
        return
    level = "error" if skill["outcome"] == "worse" else "warning"
    lost = skill["proof"]["lost"] if skill["proof"] is not None else []
    broken = f" (task that lost most: {lost[0]['task']})" if lost else ""
    code = f"skill-{skill['outcome'].replace(' ', '-')}"
    for edit in skill["edits"]:
        text = f"{VERDICT_RULES[code]} {edit_words(edit)}: {edit['text'] or edit['new_text']}{broken}"
        yield sarif_result(folder, code, level, text, edit["file"], edit["lines"] or (edit["at"], edit["at"]))


def check_junit(result: CheckDocument) -> str:
    """Two test cases a skill, lint and verdict: worse fails, not shown is skipped, an outage is an error."""
    root = ET.Element("testsuites", name="skillsv check")
    for skill in result["skills"]:
        suite = ET.SubElement(root, "testsuite", name=escape_text(skill["path"]))
        _lint_case(suite, skill)
        if skill["outcome"] is not None:
            _verdict_case(suite, skill)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(suite.findall("testcase"))))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _lint_case(suite: ET.Element, skill: CheckedSkillDocument) -> None:
    case = ET.SubElement(suite, "testcase", name="lint", classname=escape_text(skill["path"]))
    for finding in skill["findings"]:
        if finding["new"] and finding["severity"] == "error":
            text = f"{finding['file']}:{finding['line']}: {finding['message']}"
            ET.SubElement(case, "failure", type=escape_text(finding["code"]), message=escape_text(text))
    if skill["too_long"]:
        ET.SubElement(case, "failure", type="too-long", message=escape_text(skill["notes"][-1]))


def _verdict_case(suite: ET.Element, skill: CheckedSkillDocument) -> None:
    case = ET.SubElement(suite, "testcase", name="no worse than the base", classname=escape_text(skill["path"]))
    lost = skill["proof"]["lost"] if skill["proof"] is not None else []
    changes = "; ".join(f"{edit_words(edit)}: {edit['text'] or edit['new_text']}" for edit in skill["edits"])
    tasks = ", ".join(row["task"] for row in lost[:5])
    message = escape_text(f"{skill['outcome']}. {changes}. Tasks that lost score: {tasks or 'none'}.")
    if skill["error"] is not None:
        ET.SubElement(case, "error", type="unavailable", message=escape_text(skill["error"]))
    elif skill["outcome"] == "worse":
        ET.SubElement(case, "failure", type="worse", message=message)
    elif skill["outcome"] == "not shown":
        ET.SubElement(case, "skipped", message=message)
