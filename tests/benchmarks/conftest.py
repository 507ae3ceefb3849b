"""What the tests of all benchmarks share: a rendered skill, and a provider for models."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillsv.model.coalition import Operator, RenderedFile, Rendering


@pytest.fixture
def rendering():
    def make(text: str) -> Rendering:
        return Rendering(
            coalition=frozenset({"u"}),
            operator=Operator.DELETE,
            skill_name="habits",
            main="SKILL.md",
            files=(RenderedFile(path="SKILL.md", data=text.encode(), digest=""),),
            digest="tree",
        )

    return make


@pytest.fixture
def provider(monkeypatch):
    """A provider on loopback that speaks OpenAI's protocol; it lies beside the tests of the agents."""
    pytest.importorskip("pydantic_ai", reason="the extra [models] is not installed")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "agents"))
    from fake_provider import FakeProvider

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    fake = FakeProvider()
    yield fake
    fake.close()
