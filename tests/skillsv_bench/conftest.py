"""What the tests of all benchmarks share: a rendered skill, and a provider for models."""

from __future__ import annotations

from pathlib import Path

import anyio
import numpy as np
import pytest

from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.order import exact_values
from skillsv.pipeline import ValuationJob, build_valuation, prepare, run_rollouts
from skillsv.rendering import Renderer
from skillsv.rollout import RunFolder, Stop
from skillsv.settings import load_settings
from skillsv_bench.registry import find_source


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


@pytest.fixture
def known_game(tmp_path):
    """Values a skill with a benchmark's rule-following agent, and computes its true values from lessons and needs."""

    def play(name, data, skill, flags, *, split, competences, needs):
        (tmp_path / "SKILL.md").write_text(skill)
        settings = load_settings(tmp_path, {"method": "chain", "tolerance": "off", **flags})
        task_source = find_source(name, split)
        job = ValuationJob(
            skill=tmp_path / "SKILL.md",
            tasks=data,
            agent="rules",
            settings=settings,
            folder=tmp_path,
            task_source=task_source,
        )
        prepared = prepare(job)
        rolled = anyio.run(lambda: run_rollouts(prepared, RunFolder(tmp_path / "run"), lambda _event: None, Stop()))
        estimate = build_valuation(prepared.compiled, settings, "rules", rolled).estimate
        renderer = Renderer(prepared.compiled)
        wanted = [needs(task) for task in prepared.panel_a.tasks]

        def game(coalition):
            has = competences(renderer.render(coalition, Operator.DELETE).text)
            return np.mean([need <= has for need in wanted])

        return estimate, exact_values(prepared.compiled, game)

    return play
