from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skillsv.model.coalition import Operator, RenderedFile, Rendering

# In importlib mode test folders are not packages: this makes `fake_provider` importable.
sys.path.insert(0, str(Path(__file__).parent))

from fake_provider import FakeProvider


@pytest.fixture
def provider():
    fake = FakeProvider()
    yield fake
    fake.close()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """The API key; no output may contain it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    return "sk-very-secret-0123456789"


@pytest.fixture
def rendering():
    def make(text: str, **files: bytes) -> Rendering:
        contents = {"SKILL.md": text.encode(), **{name.replace("__", "/"): data for name, data in files.items()}}
        return Rendering(
            coalition=frozenset({"u"}),
            operator=Operator.DELETE,
            skill_name="faq",
            main="SKILL.md",
            files=tuple(RenderedFile(path=path, data=data, digest="") for path, data in contents.items()),
            digest="tree",
        )

    return make
