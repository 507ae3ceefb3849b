"""Valuations with a model agent: errors of the provider change no value, and no key reaches a file."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from fake_provider import FAULTS, say

from skillsv.cli import run as command
from skillsv.model.rollout import FailureKind
from skillsv.pipeline import ValuationJob, build_run, prepare, publish, read_manifest, run_rollouts
from skillsv.pipeline.run import load_run
from skillsv.report.valuation_json import valuation_dict
from skillsv.rollout import RunFolder, Stop, ledger_file, runner
from skillsv.rollout.run_control import Timing
from skillsv.settings import load_settings

pytest.importorskip("pydantic_ai", reason="the extra `models` is not installed")

SKILL = "---\nname: tiny\ndescription: Words.\n---\n\n# Words\n\n- Say `alpha`.\n- Say `beta`.\n- Mention `gamma`.\n"
PERMANENT = {"401", "402", "404"}
EMPTY = {"null", "empty", "blank", "length-null", "length-empty"}
PAID = {"", "filter", "filter-partial", "broken-call", "finish-error", "finish-unknown", "length", *EMPTY}
NOT_RETRIED = {"400", "405", "413", "overflow", "llama-overflow", "length"}


def follow_skill(request):
    """A model that says the words which the skill in its prompt demands."""
    return say(" ".join(re.findall(r"Say `(\w+)`", request["messages"][0]["content"])) or "nothing")


@pytest.fixture
def slept():
    """The time of the run: a list with the seconds that it has slept."""
    return [0.0]


@pytest.fixture
def place(tmp_path, monkeypatch, slept):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "SKILL.md").write_text(SKILL)
    lines = [
        json.dumps({"id": f"t{n}", "input": f"{n}?", "target": word, "stratum": word, "verifier": "contains"})
        for n, word in enumerate(["alpha", "beta"] * 4)
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")

    async def sleep(seconds):
        slept[0] += seconds
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(runner, "Timing", partial(Timing, clock=lambda: slept[0], sleep=sleep))
    return tmp_path


def run_model(place, provider, name, **change):
    flags = {"base_url": provider.url, "tools": "files", "operators": "delete", "panel_b": 0, "timeout": 2.0}
    flags |= {"attempts": 40, "jobs": 4, "max_rollouts": 400, **change}
    settings = load_settings(place / "tiny", flags)
    job = ValuationJob(
        skill=place / "tiny", tasks=place / "tasks.jsonl", agent="model:openai:tiny", settings=settings, folder=place
    )
    prepared, folder, events = prepare(job), RunFolder(place / name), []
    result = anyio.run(lambda: run_rollouts(prepared, folder, events.append, Stop()))
    return prepared, folder, result, events


def value(place, provider, name, **change):
    prepared, folder, result, events = run_model(place, provider, name, **change)
    assert result.error is None
    run = build_run(prepared.renderer, prepared.job.settings, read_manifest(folder), result)
    publish(folder, run)
    return valuation_dict(run.valuation), events


@pytest.mark.heavy
def test_errors_of_the_provider_change_no_value(place, provider, key):
    provider.reply = follow_skill
    normal, _ = value(place, provider, "normal")
    faults = sorted(set(FAULTS) - {"", "dribble"} - PERMANENT - NOT_RETRIED)
    provider.faults = ["dribble", *faults, *[""] * 3, *faults, "dribble", *faults]
    injected, before = Counter(provider.faults), len(provider.requests)
    faulty, events = value(place, provider, "faulty")
    assert provider.faults == [], "all faults occurred"
    assert faulty["units"] == normal["units"]
    assert faulty["anchors"] == normal["anchors"]
    assert faulty["rollouts"]["failed"] == 0
    unpaid = sum(count for fault, count in injected.items() if fault not in PAID)
    assert faulty["usage"]["input_tokens"] == 100 * (len(provider.requests) - before - unpaid), (
        "failed requests cost tokens, too"
    )
    retried = Counter(str(event.kind) for event in events if type(event).__name__ == "RolloutRetried")
    assert retried["rate-limit"] == injected["429"] + injected["429-far-date"]
    assert retried["timeout"] >= injected["dribble"] + injected["408"]
    assert retried["refusal"] == injected["filter"] + injected["filter-partial"]
    assert retried["empty-answer"] == sum(injected[fault] for fault in EMPTY)
    alpha, beta, gamma = (unit["net"]["value"] for unit in normal["units"])
    assert (alpha, beta, gamma) == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.0, abs=1e-9))
    assert key not in repr(events)
    for file in place.rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes(), file


class RateLimitedAnswers:
    """In the place of a list of faults: refuses requests above one in a second of the run's time."""

    def __init__(self, slept):
        self.slept, self.tokens, self.last, self.refused, self.lock = slept, 1.0, 0.0, 0, threading.Lock()

    def pop(self, _place):
        with self.lock:
            self.tokens = min(1.0, self.tokens + self.slept[0] - self.last)
            self.last = self.slept[0]
            if self.tokens < 1.0:
                self.refused += 1
                return "429"
            self.tokens -= 1.0
            return ""


@pytest.mark.heavy
def test_a_provider_that_refuses_above_a_rate_changes_no_value(place, provider, slept):
    provider.reply = follow_skill
    normal, _ = value(place, provider, "normal")
    provider.faults = limited = RateLimitedAnswers(slept)
    first, events = value(place, provider, "first", jobs=16, timeout=60.0)  # sixteen at once are slow on a busy machine
    assert (first["units"], first["anchors"]) == (normal["units"], normal["anchors"])
    assert first["rollouts"]["failed"] == 0
    retried = Counter(str(event.kind) for event in events if type(event).__name__ == "RolloutRetried")
    assert retried == {"rate-limit": limited.refused}
    assert limited.refused > 0
    assert any("rollouts a minute from here" in getattr(event, "message", "") for event in events)


def cut_answers_to(word):
    """Like `follow_skill`, but the token limit cuts answers to tasks whose input begins with this text."""

    def reply(request):
        answer = follow_skill(request)
        if request["messages"][1]["content"].startswith(word):
            answer["choices"][0]["finish_reason"] = "length"
        return answer

    return reply


@pytest.mark.heavy
def test_cut_answers_are_scored_on_request_and_counted_in_all_outputs(place, provider, capsys):
    provider.reply = follow_skill
    normal, _ = value(place, provider, "normal")
    assert normal["rollouts"]["cut"] == 0
    provider.reply = cut_answers_to("3")
    answer, _ = value(place, provider, "run", cut_answers="score")
    cut = answer["rollouts"]["cut"]
    assert 0 < cut < answer["rollouts"]["spent"]
    assert answer["units"] == normal["units"], "a cut answer is scored like any other"
    sentence = f"{cut} answers cut by the token limit"
    assert sentence in (place / "run" / "report.html").read_text()
    assert sentence not in (place / "normal" / "report.html").read_text()
    assert RunFolder(place / "run").status().cut == cut
    loaded = load_run(place / "run")
    assert loaded.valuation.rollouts.cut == cut
    assert loaded.settings.cut_answers == "score"
    assert command(["status", str(place / "run")]) == 0
    assert f"Answers cut by the token limit: {cut}." in capsys.readouterr().out
    assert command(["status", str(place / "run"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cut"] == cut


def test_a_run_with_only_cut_answers_ends_with_a_hint(place, provider):
    provider.reply = cut_answers_to("")
    *_, result, events = run_model(place, provider, "run", jobs=1)
    assert result.error.exit_code == 5
    missing = result.spending.failed
    assert f"Answers cut by the token limit: {missing}. Raise --max-output-tokens" in str(result.error)
    assert "--cut-answers score" in str(result.error)
    assert (result.spending.spent, result.spending.cut) == (0, missing)
    assert len(provider.requests) == missing, "a retry would be cut again"
    assert RunFolder(place / "run").status().failures == {FailureKind.CUT_ANSWER: missing}
    assert not [event for event in events if type(event).__name__ == "RolloutRetried"]


@pytest.mark.heavy
def test_a_few_cut_answers_are_missing_and_counted(place, provider):
    provider.reply = cut_answers_to("3")
    answer, _ = value(place, provider, "run")
    assert answer["rollouts"]["cut"] == answer["rollouts"]["failed"] > 0
    assert any("Some answers are missing" in note and "t3" in note for note in answer["notes"])


@pytest.mark.heavy
def test_a_run_of_a_version_without_cut_answers_resumes_for_free(place, provider):
    provider.reply = follow_skill
    value(place, provider, "run")
    folder, asked = RunFolder(place / "run"), len(provider.requests)
    before = folder.run_id
    old = dict(folder.manifest())
    assert "cut_answers" not in old["settings"], (
        "the identity of a run with default settings is that of earlier versions"
    )
    assert old["about"]["settings"].pop("cut_answers") == "fail"
    folder.write("manifest.json", json.dumps(old).encode())
    assert load_run(place / "run").settings.cut_answers == "score", "the behaviour of the earlier version"
    again, _ = value(place, provider, "run")
    assert (folder.run_id, len(provider.requests)) == (before, asked)
    assert not (place / "run" / "earlier").exists()
    assert again["rollouts"]["spent"] == 0
    other, _ = value(place, provider, "run", cut_answers="score")
    assert folder.run_id != before, "another policy is another run"
    assert (other["rollouts"]["spent"], len(provider.requests)) == (0, asked)


def test_a_wrong_key_ends_the_run_at_once(place, provider, key):
    provider.faults = ["401"] * 100
    settings = load_settings(
        place / "tiny", {"base_url": provider.url, "tools": "none", "max_rollouts": 400, "jobs": 1}
    )
    job = ValuationJob(
        skill=place / "tiny", tasks=place / "tasks.jsonl", agent="model:openai:tiny", settings=settings, folder=place
    )
    result = anyio.run(lambda: run_rollouts(prepare(job), RunFolder(place / "run"), lambda _: None, Stop()))
    assert result.error is not None
    assert result.error.exit_code == 5
    assert key not in str(result.error)
    assert len(provider.requests) == 1


def test_a_settings_file_cannot_set_the_address_or_the_sandbox(place):
    from skillsv.errors import SettingsError

    for line in ('base-url = "http://127.0.0.1:1/v1"', "no-sandbox = true"):
        (place / "skillsv.toml").write_text(line + "\n")
        with pytest.raises(SettingsError, match="never taken from a file"):
            load_settings(place / "tiny", {})
