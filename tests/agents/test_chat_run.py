"""A whole valuation with a model whose provider fails in every way: no value changes, only time; no key is kept."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from fake_provider import FAULTS, say

from skillsv.pipeline import Run, ValuationJob, appraise, prepare, publish, roll_out
from skillsv.report.as_json import valuation_dict
from skillsv.rollout import RunFolder, Stop, ledger_file, runner
from skillsv.rollout.options import Timing
from skillsv.settings import load_settings

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

SKILL = "---\nname: tiny\ndescription: Words.\n---\n\n# Words\n\n- Say `alpha`.\n- Say `beta`.\n- Mention `gamma`.\n"
HOPELESS = {"401", "402", "404"}
PAID = {"", "filter", "broken-call"}
FOR_GOOD = {"400", "405", "413", "overflow", "llama-overflow"}


def obey(request):
    """A model that says what the skill in its prompt tells it to say."""
    return say(" ".join(re.findall(r"Say `(\w+)`", request["messages"][0]["content"])) or "nothing")


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "SKILL.md").write_text(SKILL)
    lines = [
        json.dumps({"id": f"t{n}", "input": f"{n}?", "target": word, "stratum": word, "verifier": "contains"})
        for n, word in enumerate(["alpha", "beta"] * 4)
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")
    monkeypatch.setattr(runner, "Timing", partial(Timing, sleep=lambda _seconds: anyio.lowlevel.checkpoint()))
    return tmp_path


def value(place, provider, name):
    flags = {"base_url": provider.url, "tools": "files", "operators": "delete", "panel_b": 0, "timeout": 2.0}
    settings = load_settings(place / "tiny", {**flags, "attempts": 40, "jobs": 4, "max_rollouts": 400})
    job = ValuationJob(
        skill=place / "tiny", tasks=place / "tasks.jsonl", agent="model:openai:tiny", settings=settings, folder=place
    )
    prepared, folder, events = prepare(job), RunFolder(place / name), []
    rolled = anyio.run(lambda: roll_out(prepared, folder, events.append, Stop()))
    assert rolled.trouble is None
    valuation = appraise(prepared.compiled, settings, job.agent, rolled)
    run = Run(
        compiled=prepared.compiled,
        settings=settings,
        records=rolled.records,
        observations=rolled.observations,
        valuation=valuation,
        manifest=folder.manifest() or {},
    )
    publish(folder, run)
    return valuation_dict(valuation), events


def test_faults_of_the_provider_change_no_value(place, provider, key):
    provider.reply = obey
    calm, _ = value(place, provider, "calm")
    faults = sorted(set(FAULTS) - {"", "dribble"} - HOPELESS - FOR_GOOD)
    provider.faults = ["dribble", *faults, *[""] * 3, *faults, "dribble", *faults]
    injected, before = Counter(provider.faults), len(provider.requests)
    stormy, events = value(place, provider, "stormy")
    assert provider.faults == [], "all of them were met"
    assert stormy["units"] == calm["units"]
    assert stormy["anchors"] == calm["anchors"]
    assert stormy["rollouts"]["failed"] == 0
    unpaid = sum(count for fault, count in injected.items() if fault not in PAID)
    assert stormy["usage"]["input_tokens"] == 100 * (len(provider.requests) - before - unpaid), (
        "failed ones are paid, too"
    )
    retried = Counter(str(event.kind) for event in events if type(event).__name__ == "RolloutRetried")
    assert retried["rate-limit"] == injected["429"] + injected["429-far-date"]
    assert retried["timeout"] >= injected["dribble"] + injected["408"]
    assert retried["refusal"] == injected["filter"]
    alpha, beta, gamma = (unit["net"]["value"] for unit in calm["units"])
    assert (alpha, beta, gamma) == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.0, abs=1e-9))
    assert key not in repr(events)
    for file in place.rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes(), file


def test_a_wrong_key_ends_the_run_at_once(place, provider, key):
    provider.faults = ["401"] * 100
    settings = load_settings(
        place / "tiny", {"base_url": provider.url, "tools": "none", "max_rollouts": 400, "jobs": 1}
    )
    job = ValuationJob(
        skill=place / "tiny", tasks=place / "tasks.jsonl", agent="model:openai:tiny", settings=settings, folder=place
    )
    rolled = anyio.run(lambda: roll_out(prepare(job), RunFolder(place / "run"), lambda _: None, Stop()))
    assert rolled.trouble is not None
    assert rolled.trouble.exit_code == 5
    assert key not in str(rolled.trouble)
    assert len(provider.requests) == 1


def test_the_address_and_the_sandbox_are_never_set_by_a_file(place):
    from skillsv.errors import SettingsError

    for line in ('base-url = "http://127.0.0.1:1/v1"', "no-sandbox = true"):
        (place / "skillsv.toml").write_text(line + "\n")
        with pytest.raises(SettingsError, match="never taken from a file"):
            load_settings(place / "tiny", {})
