"""The table of checks, and properties of all findings."""

import re
from pathlib import Path

import skillsv.compiler as compile_package
from skillsv.compiler import CompileOptions
from skillsv.compiler.lint import CHECKS, finding_titles


def test_findings_are_sorted_unique_and_reproducible(lint):
    files = {"SKILL.md": "# Tea\n\n## A\n\n## B\n\n##C\n", "b.md": "```\nx\n", "a.md": "```\nx\n"}
    findings = lint(files)
    keys = [(finding.file != "SKILL.md", finding.file, finding.line) for finding in findings]
    assert keys == sorted(keys)
    assert len(set(findings)) == len(findings)
    assert findings == lint(files)


def test_granularity_does_not_change_the_findings_for_headings(lint):
    body = "# Tea\n\nBoil.\n\n## Cups\n\n## Pots\n\n- One.\n- Two.\n"
    findings = [
        {(finding.code, finding.line) for finding in lint(body, options=CompileOptions(granularity=granularity))}
        for granularity in ("block", "group", "section")
    ]
    assert findings == [{("empty-heading", 9)}] * 3


def test_every_code_is_listed_once_with_a_title():
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert all(finding_titles()[code] for code in codes)


def test_every_code_of_the_compiler_has_a_title():
    source = Path(compile_package.__file__).parent
    texts = [path.read_text() for path in source.rglob("*.py") if "lint" not in path.parts]
    codes = {code for text in texts for code in re.findall(r"(?:code=|_left_out\(|_note\()\"([a-z0-9-]+)\"", text)}
    assert len(codes) > 8
    assert codes <= set(finding_titles())


def test_messages_are_sentences_that_say_what_to_do(lint):
    files = {"SKILL.md": "# Tea\n\n## A\n\n##C\n\nRun scripts/x.py.\n\n```\nx\n", "scripts/y.py": "1\n"}
    findings = lint(files, head="---\nname: Tea\nx: 1\n---\n")
    assert len(findings) >= 7
    assert all(finding.message.endswith(".") and ". " in finding.message for finding in findings)
