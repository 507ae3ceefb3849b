"""A real language model obeys or ignores each bullet of `examples/faq`, and its values say so.

Short by default (a few minutes, part of `make test-all`); `make real-model` sets SKILLSV_REAL_MODEL=full. Two servers,
a core each: beside the first valuation a second one runs, is killed together with its server, and is resumed; then
leaving out goes through the product while the model is asked directly.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.agents.local_server import LocalServer
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.pipeline.rankings import leave_out, loo_tasks
from skillsv.pipeline.run import RunOverrides, reopen
from skillsv.rollout import Stop
from skillsv.rollout.run_folder import RunFolder
from skillsv.tasks import load_tasks

pytestmark = pytest.mark.heavy

PACKAGES = ("pydantic_ai",)

EXAMPLE = Path(__file__).parents[2] / "examples" / "faq"
FULL = os.environ.get("SKILLSV_REAL_MODEL") == "full"
BUDGET = 330 if FULL else 90
FACTS = 10 if FULL else 3
DISTRACTORS = 4 if FULL else 1
MODEL = "model:openai:smollm2"
DECODING = {"tools": "none", "max_output_tokens": 32}


@pytest.fixture(scope="module")
def faq(tmp_path_factory):
    """The example, or its first facts and distractors only: the same text, fewer bullets and questions."""
    folder = tmp_path_factory.mktemp("skill") / "faq"
    (folder / "evals").mkdir(parents=True)
    text = (EXAMPLE / "SKILL.md").read_text()
    head, facts, between, distractors = _parts(text)
    (folder / "SKILL.md").write_text(head + "".join(facts[:FACTS]) + between + "".join(distractors[:DISTRACTORS]))
    lines = (EXAMPLE / "evals" / "tasks.jsonl").read_text().splitlines(keepends=True)
    (folder / "evals" / "tasks.jsonl").write_text("".join(lines[: 3 * FACTS]))
    if FULL:
        assert (folder / "SKILL.md").read_text() == text
        assert len(lines) == 3 * FACTS
    return folder


def _parts(text):
    """What stands before the facts, the facts, what stands between, and the distractors."""
    pieces = re.split(r"((?:^- .*\n)+)", text, flags=re.MULTILINE)
    head, facts, between, distractors, rest = pieces
    assert rest == ""
    return head, facts.splitlines(keepends=True), between, distractors.splitlines(keepends=True)


def command(faq, run, url):
    return [
        *(sys.executable, "-m", "skillsv", "value", str(faq), "--tasks", str(faq / "evals" / "tasks.jsonl")),
        *("--agent", MODEL, "--base-url", url, "--tools", "none", "--max-output-tokens", "32"),
        *("--cut-answers", "score"),
        *("--operators", "delete", "--panel-b", "0", "--max-rollouts", str(BUDGET), "--jobs", "2"),
        *("--run-dir", str(run), "--quiet", "--json"),
    ]


def value(faq, run, url):
    """One valuation by the command line: its result, and the seconds it took."""
    started = time.monotonic()
    done = subprocess.run(command(faq, run, url), capture_output=True, text=True, env=_environment())
    assert done.returncode in {0, 4}, done.stderr
    return json.loads(done.stdout), time.monotonic() - started


def _environment():
    return {**os.environ, "OPENAI_API_KEY": "sk-very-secret-0123456789"}


def test_what_each_bullet_is_worth_to_a_real_model(weights, faq, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    with LocalServer(weights) as server, ThreadPoolExecutor(1) as beside:
        resuming = beside.submit(_killed_and_resumed, faq, disturbed, weights)
        first, seconds = value(faq, undisturbed, server.base_url)
        spent = psutil.Process(server.pid).cpu_times()
        resumed = resuming.result()
        with LocalServer(weights) as other:
            asking = beside.submit(anyio.run, ask_directly, faq, other.base_url)
            left_out = anyio.run(_left_out, undisturbed)
            direct = asking.result()
    with capsys.disabled():
        sys.stdout.write(_heading(first, direct, seconds, spent.user + spent.system) + _table(first, direct))
    assert resumed["units"] == first["units"], "two runs at temperature 0, one of them killed, give the same values"
    assert resumed["anchors"] == first["anchors"]
    assert 0 < resumed["rollouts"]["spent"] < first["rollouts"]["spent"], "the rest was paid for before it was killed"
    assert first["anchors"]["full"]["value"] == pytest.approx(direct.mean(direct.full))
    assert first["anchors"]["empty"]["value"] == pytest.approx(direct.mean(direct.none))
    assert _agreeing(undisturbed, first, direct) >= 2 * len(direct.full), "both anchors, and whatever left out one line"
    _leaving_out_agrees(left_out, first, direct)
    _facts_count_and_distractors_do_not(first, direct)
    for file in (*disturbed.rglob("*"), *undisturbed.rglob("*")):
        assert not file.is_file() or b"very-secret" not in file.read_bytes(), file


def _killed_and_resumed(faq, run, weights):
    """Kill the run when a third of its rollouts are paid for, and its server with it; start both again."""
    with LocalServer(weights) as server:
        words = command(faq, run, server.base_url)
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, env=_environment()) as process:
            while _paid(run) < BUDGET // 3:
                assert process.poll() is None, "it ended before it could be killed"
                time.sleep(0.2)
            process.send_signal(signal.SIGKILL)
    with LocalServer(weights, port=server.port) as again:
        return value(faq, run, again.base_url)[0]


def _paid(run):
    if not (run / "manifest.json").exists():
        return 0
    done = subprocess.run(
        [sys.executable, "-m", "skillsv", "status", str(run), "--json"], capture_output=True, text=True
    )
    return json.loads(done.stdout)["rollouts"] if done.returncode == 0 else 0


@dataclass(frozen=True, kw_only=True)
class Direct:
    """Scores by task, asked without estimator and ledger: the full skill, no skill, and without each bullet."""

    full: dict[str, float]
    none: dict[str, float]
    without: dict[str, dict[str, float]]
    own: dict[str, frozenset[str]]
    """The questions that a bullet answers: those of its stratum, none for a distractor."""

    @staticmethod
    def mean(scores):
        return sum(scores.values()) / len(scores)

    def loss(self, bullet, tasks=None):
        """What is lost when this bullet alone is dropped, on all tasks or on some."""
        chosen = self.full if tasks is None else tasks
        return sum(self.full[task] - self.without[bullet][task] for task in chosen) / len(chosen)

    def usable(self, bullet):
        """Whether the model can use it: each of its questions is right with the full skill, and wrong without it."""
        own = self.own[bullet]
        return bool(own) and all(self.full[task] == 1.0 and self.without[bullet][task] == 0.0 for task in own)


async def ask_directly(faq, url):
    text = (faq / "SKILL.md").read_text()
    tasks = load_tasks(faq / "evals" / "tasks.jsonl")
    agent = make_agent(MODEL, AgentOptions(chat=ChatOptions(base_url=url, **DECODING)))
    _, facts, _, distractors = _parts(text)
    strata = list(dict.fromkeys(task.stratum for task in tasks))
    own = {
        fact: frozenset(task.id for task in tasks if task.stratum == stratum)
        for fact, stratum in zip(facts, strata, strict=True)
    }
    direct = Direct(
        full=await _scores(agent, text, tasks),
        none=await _scores(agent, None, tasks),
        without={bullet: await _scores(agent, text.replace(bullet, ""), tasks) for bullet in (*facts, *distractors)},
        own={**own, **dict.fromkeys(distractors, frozenset())},
    )
    assert sum(direct.usable(fact) for fact in facts) >= FACTS // 2 - 1, "the model can use about half of the facts"
    return direct


async def _scores(agent, text, tasks):
    skill = None if text is None else _rendering(text)
    scores = {}
    for task in tasks:
        outcome = await agent.run(skill, task, 0, Path(tempfile.gettempdir()))
        scores[task.id] = float(task.target.lower() in outcome.answer.lower())
    return scores


def _rendering(text):
    file = RenderedFile(path="SKILL.md", data=text.encode(), digest="")
    return Rendering(
        coalition=frozenset({"all"}),
        operator=Operator.DELETE,
        skill_name="faq",
        main="SKILL.md",
        files=(file,),
        digest="",
    )


def _agreeing(run, valuation, direct):
    """How many rollouts of the valuation were also asked directly; all of them have the same score there."""
    bullets = {unit["id"]: unit["text"] for unit in valuation["units"]}
    records = [record for record in RunFolder(run).read_records().observations if not record.null_change]
    everything = max((record.coalition for record in records), key=len)
    agreed = 0
    for record in records:
        left = everything - record.coalition
        arm = {0: direct.full, len(everything): direct.none}.get(len(left))
        if len(left) == 1:
            arm = direct.without.get(bullets.get(*left))
        if arm is not None:
            assert record.score == arm[record.task], record
            agreed += 1
    return agreed


async def _left_out(run):
    """Closure-LOO through the product: its renderings, its ledger, its runner."""
    reopened = reopen(run, RunOverrides(jobs=2))
    found = await leave_out(reopened, lambda _: None, Stop())
    return found.ranking.values, [task.id for task in loo_tasks(reopened)]


def _leaving_out_agrees(left_out, valuation, direct):
    values, tasks = left_out
    compared = [unit for unit in valuation["units"] if unit["text"] in direct.without]
    assert len(compared) == FACTS + DISTRACTORS
    for unit in compared:
        assert values[unit["id"]].value == pytest.approx(direct.loss(unit["text"], tasks)), unit["text"]


def _facts_count_and_distractors_do_not(valuation, direct):
    for unit in valuation["units"]:
        text = unit["text"]
        if text not in direct.without or not direct.own[text]:
            assert unit["net"]["low"] <= 0, text
        elif direct.usable(text):
            assert unit["net"]["low"] > 0, text


def _heading(valuation, direct, seconds, cpu):
    return (
        f"\n{valuation['rollouts']['spent']} rollouts in {seconds:.0f} s, {cpu:.0f} s of them the server's CPU. "
        f"Full {100 * direct.mean(direct.full):.1f}, none {100 * direct.mean(direct.none):.1f} points, asked directly.\n"
    )


def _table(valuation, direct):
    rows = [
        "| line | role | left out alone, asked directly | value | 95 % interval | verdict |",
        "|---|---|--:|--:|---|---|",
    ]
    for unit in valuation["units"]:
        text, net = unit["text"], {name: 100 * number for name, number in unit["net"].items()}
        asked = text in direct.without
        role = "lead-in" if not asked else "distractor" if not direct.own[text] else "fact"
        alone = f"{100 * direct.loss(text):+.1f}" if asked else ""
        words = text.strip().removeprefix("- ") + (
            " (all three answers hang on it)" if asked and direct.usable(text) else ""
        )
        rows.append(
            f"| {words} | {role} | {alone} | {net['value']:+.1f} | {net['low']:+.1f} to {net['high']:+.1f} "
            f"| {unit['verdict']} |"
        )
    return "\n".join(rows) + "\n"
