"""Skills made in memory, and the shared corpus where it is present."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from skillsv.compiler import CompileOptions, compile_files
from skillsv.model.skill import CompiledSkill, FileRole, Skill, SkillFile

CORPUS = Path(__file__).resolve().parents[2] / "../shared/corpus"


def _make_skill(files: dict[str, str | bytes], *, name: str = "demo", main: str = "SKILL.md") -> Skill:
    """A skill from texts, without files on disk."""
    skill_files = []
    for path, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        role = FileRole.MAIN if path == main else FileRole.RESOURCE
        digest = hashlib.sha256(data).hexdigest()
        skill_files.append(SkillFile(path=path, role=role, data=data, size=len(data), digest=digest))
    return Skill(name=name, root=Path("demo"), main=main, files=tuple(skill_files))


def _compiled(files: dict[str, str | bytes] | str | bytes, **options: object) -> CompiledSkill:
    """Compile texts; a single text is SKILL.md."""
    if isinstance(files, str | bytes):
        files = {"SKILL.md": files}
    return compile_files(_make_skill(files), CompileOptions(**options))


@pytest.fixture(scope="session")
def make_skill():
    return _make_skill


@pytest.fixture(scope="session")
def compiled():
    return _compiled


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """Every skill folder of the shared corpus, in order."""
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not beside the repository")
    places = [*CORPUS.iterdir(), *(CORPUS / "optimized").iterdir()]
    return sorted(place for place in places if (place / "SKILL.md").is_file())
