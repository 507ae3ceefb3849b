import pytest

from skillsv.compile import CompileOptions, compile_skill
from skillsv.compile.lint import lint_compiled

HEAD = "---\nname: tea\ndescription: Makes tea.\n---\n"


@pytest.fixture
def lint(tmp_path):
    """Write a skill called tea and lint it: findings as (code, file, line). A text without frontmatter gets some."""

    def look(files, *, head=HEAD, folder="tea", options=None):
        root = tmp_path / folder
        for path, text in ({"SKILL.md": files} if isinstance(files, str | bytes) else files).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            data = text if isinstance(text, bytes) else text.encode()
            target.write_bytes(head.encode() + data if path == "SKILL.md" else data)
        return lint_compiled(compile_skill(root, options or CompileOptions()))

    return look


@pytest.fixture
def places(lint):
    """Lint a skill and give the (file, line) of the findings with one code."""

    def look(code, files, **more):
        return [(one.file, one.line) for one in lint(files, **more) if one.code == code]

    return look
