"""Lint on real skills: every place exists, and only what agents refuse is an error."""

import pytest

from skillsv.compiler import compile_skill
from skillsv.compiler.lint import CHECKS, finding_titles, lint_compiled
from skillsv.compiler.markdown import cut_lines
from skillsv.model.skill import Severity


@pytest.mark.heavy
def test_findings_of_real_skills_point_at_lines_that_exist(corpus):
    frontmatter = {check.code for check in CHECKS if check.find.__module__.endswith(".frontmatter")}
    without_finding = 0
    for folder in corpus:
        compiled = compile_skill(folder)
        lines = {file.path: max(len(cut_lines(file.data or b"")), 1) for file in compiled.skill.files}
        # The folders of the corpus do not have the names of their skills.
        findings = [finding for finding in lint_compiled(compiled) if finding.code != "name-folder"]
        without_finding += not findings
        for finding in findings:
            assert finding.code in finding_titles()
            assert finding.severity is not Severity.ERROR or finding.code in frontmatter, finding
            assert 1 <= finding.line <= lines.get(finding.file, 1), finding
    # Nobody reads a linter that complains about almost every good skill.
    assert without_finding > len(corpus) / 4
