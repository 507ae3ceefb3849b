"""For any bytes, lint ends, points at lines that exist, and gives the same findings again."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.compiler import compile_files
from skillsv.compiler.lint import fixed_files, lint_compiled
from skillsv.compiler.markdown import BOM, cut_lines
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.report.compiled_json import compiled_json
from skillsv.report.graph import graph_svg
from skillsv.report.graph_dot import graph_dot
from skillsv.report.outline import outline_text

PIECES = (
    *(
        "---\n",
        "name: tea\n",
        "description: x\n",
        "name: [\n",
        "a: &a [*a]\n",
        "# A\n",
        "## A\n",
        "##B\n",
        "```",
        "```py\n",
    ),
    *(
        "````md\n",
        "~~~\n",
        "\n",
        "\r\n",
        "\r",
        "\ufeff",
        "- x\n",
        "1. y:\n",
        "  ",
        "\t",
        "> ",
        "| a | b |\n",
        "|---|---|\n",
    ),
    *(
        "[x](notes.md)\n",
        "notes.md",
        "x.## Y\n",
        "!`ls`",
        "$ARGUMENTS",
        "from helper import z\n",
        "call()\n",
        "<Good>\n",
    ),
    *(
        "<!-- SLOW_UPDATE_START -->\n",
        "<!-- SLOW_UPDATE_END -->\n",
        "---",
        "\x00",
        "\u2028",
        "\x1b[0m",
        "evals/",
        "text\n",
    ),
)
texts = st.lists(st.sampled_from(PIECES), max_size=40).map(lambda parts: "".join(parts).encode())
contents = texts | st.binary(max_size=60) | texts.map(lambda data: data + b"\xff\xfe")
names = st.sampled_from(["notes.md", "helper.py", "scripts/helper.py", "a b/é.md", "x\udce9.md", "evals.json"])


def make_file(path, role, data):
    return SkillFile(path=path, role=role, data=data, size=len(data), digest=f"{hash(data):x}")


@pytest.mark.heavy
@settings(max_examples=150, deadline=None)
@given(main=contents, others=st.dictionaries(names, contents, max_size=3), single=st.booleans())
def test_every_finding_points_at_a_line_that_exists(main, others, single):
    resources = (
        () if single else tuple(make_file(path, FileRole.RESOURCE, data) for path, data in sorted(others.items()))
    )
    files = (make_file("SKILL.md", FileRole.MAIN, main), *resources)
    skill = Skill(name="tea", root=Path("no/such/tea"), main="SKILL.md", files=files, single_file=single)
    compiled = compile_files(skill)
    findings = lint_compiled(compiled, every=True)
    lengths = {file.path: max(len(cut_lines(file.data)), 1) for file in files}
    for finding in findings:
        assert 1 <= finding.line <= lengths[finding.file], finding
    assert findings == lint_compiled(compile_files(skill), every=True)
    for path, data in fixed_files(compiled).items():
        before = next(file.data for file in files if file.path == path)
        assert re.sub(rb"\s", b"", data) == re.sub(rb"\s", b"", before.removeprefix(BOM)), "a repair adds only blanks"
    for text in (outline_text(compiled), graph_svg(compiled), graph_dot(compiled)):
        text.encode("utf-8")
        assert "\x1b" not in text
    assert compiled_json(compiled)["n"] == len(compiled.units)
