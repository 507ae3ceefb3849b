"""Lint on real skills: it ends, every place exists, and only what agents refuse is called an error."""

from pathlib import Path

import pytest

from skillsv.compile import compile_skill
from skillsv.compile.lint import CHECKS, finding_titles, lint_compiled
from skillsv.compile.markdown import cut_lines
from skillsv.model.skill import Severity

CORPUS = Path(__file__).resolve().parents[4] / "shared/corpus"
SKILLS = sorted(path.parent for path in CORPUS.glob("**/SKILL.md"))

pytestmark = pytest.mark.skipif(not SKILLS, reason="the shared corpus is not beside the repository")


def test_real_skills_get_findings_with_places_that_exist():
    frontmatter = {check.code for check in CHECKS if check.find.__module__.endswith(".frontmatter")}
    silent = 0
    for folder in SKILLS:
        compiled = compile_skill(folder)
        lines = {file.path: max(len(cut_lines(file.data or b"")), 1) for file in compiled.skill.files}
        # Folders of the corpus are not called like their skills.
        found = [one for one in lint_compiled(compiled) if one.code != "name-folder"]
        silent += not found
        for finding in found:
            assert finding.code in finding_titles()
            assert finding.severity is not Severity.ERROR or finding.code in frontmatter, finding
            assert 1 <= finding.line <= lines.get(finding.file, 1), finding
    # A linter that speaks about most good skills is one that nobody reads.
    assert silent > len(SKILLS) / 4
