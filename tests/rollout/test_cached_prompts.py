"""With 16 slots, prompt caches serve almost what they serve with one slot: measured by a server that counts prefixes."""

import importlib.util
import json
import threading
from pathlib import Path

import anyio
import pytest

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

from skillsv.pipeline import ValuationJob, prepare, run_rollouts
from skillsv.rollout import RunFolder, Stop
from skillsv.settings import load_settings

FAKE = Path(__file__).parents[1] / "agents" / "fake_provider.py"
SECTIONS = "".join(f"\n## Part {n}\n\n- Say word{n} {'and think about it ' * 12}here.\n" for n in range(6))
SKILL = f"---\nname: words\ndescription: Words.\n---\n\n# Words\n{SECTIONS}"
LATENCY = 0.03  # seconds of a fake answer: those that arrive together do not see each other in the cache


class CountingCache:
    """The words of prompts, and how many of them were at the beginning of a prompt that was answered before."""

    def __init__(self):
        self.answered, self.words, self.cached, self.lock = set(), 0, 0, threading.Lock()

    def reply(self, request):
        system = request["messages"][0]["content"]
        with self.lock:
            size = len(system.split())
            self.words += size
            self.cached += size * (system in self.answered)
        threading.Event().wait(LATENCY)
        with self.lock:
            self.answered.add(system)
        said = " ".join(f"word{n}" for n in range(6) if f"word{n} " in system)
        message = {"role": "assistant", "content": said or "nothing"}
        return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


def make_provider():
    spec = importlib.util.spec_from_file_location("counting_fake_provider", FAKE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FakeProvider()


def cached_share(tmp_path, provider, jobs, orders=12):
    cache = CountingCache()
    provider.reply = cache.reply
    flags = {"base_url": provider.url, "operators": "delete", "panel_b": 0, "jobs": jobs, "method": "chain"}
    flags |= {"orders": orders, "window": 8, "tolerance": None}
    job = ValuationJob(
        skill=tmp_path / "words",
        tasks=tmp_path / "tasks.jsonl",
        agent="model:openai:tiny",
        settings=load_settings(tmp_path / "words", flags),
        folder=tmp_path,
    )
    result = anyio.run(
        lambda: run_rollouts(prepare(job), RunFolder(tmp_path / f"{orders}-{jobs}"), lambda _: None, Stop())
    )
    assert len(provider.requests) >= result.spending.spent > 100
    return cache.cached / cache.words


def measure(tmp_path):
    """The cached share of input with one slot, which is what is possible, and with 16 slots."""
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "SKILL.md").write_text(SKILL)
    lines = [{"id": f"t{n}", "input": f"{n}?", "target": f"word{n % 6}", "verifier": "contains"} for n in range(24)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    provider = make_provider()
    try:
        return [cached_share(tmp_path, provider, jobs) for jobs in (1, 16)]
    finally:
        provider.close()


@pytest.mark.heavy
def test_caches_serve_four_fifths_of_what_they_serve_with_one_slot(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    possible, many = measure(tmp_path)
    assert many >= 0.8 * possible > 0.4
