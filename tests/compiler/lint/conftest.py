import pytest

from skillsv.compiler import CompileOptions, compile_skill
from skillsv.compiler.lint import lint_compiled

HEAD = "---\nname: tea\ndescription: Makes tea.\n---\n"


@pytest.fixture
def lint(tmp_path):
    """Write a skill called tea and lint it. `head` is put before SKILL.md; a text alone is SKILL.md."""

    def run(files, *, head=HEAD, folder="tea", options=None):
        root = tmp_path / folder
        for path, text in ({"SKILL.md": files} if isinstance(files, str | bytes) else files).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            data = text if isinstance(text, bytes) else text.encode()
            target.write_bytes(head.encode() + data if path == "SKILL.md" else data)
        return lint_compiled(compile_skill(root, options or CompileOptions()), every=True)

    return run


@pytest.fixture
def places(lint):
    """Lint a skill and return the (file, line) of the findings with one code."""

    def run(code, files, **more):
        return [(finding.file, finding.line) for finding in lint(files, **more) if finding.code == code]

    return run
