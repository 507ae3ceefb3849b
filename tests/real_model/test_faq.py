"""A real language model obeys or ignores each bullet of `examples/faq`, and its values say so.

Short by default (a few minutes, part of `make test-all`); `make real-model` sets SKILLSV_REAL_MODEL=full.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
import pytest

from skillsv.agents import AgentOptions, ChatOptions, make_agent
from skillsv.agents.local import LocalServer, find_gguf, free_port
from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.tasks import load_tasks

pytestmark = pytest.mark.heavy

EXAMPLE = Path(__file__).parents[2] / "examples" / "faq"
FULL = os.environ.get("SKILLSV_REAL_MODEL") == "full"
BUDGET = 330 if FULL else 90
FACTS = 10 if FULL else 3
DISTRACTORS = 4 if FULL else 1
MODEL = "model:openai:smollm2"
DECODING = {"tools": "none", "max_output_tokens": 32}


@pytest.fixture(scope="module")
def weights():
    for package in ("xllamacpp", "pydantic_ai"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    try:
        return find_gguf()
    except SettingsError as trouble:
        pytest.skip(str(trouble))


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
        *("--operators", "delete", "--panel-b", "0", "--max-rollouts", str(BUDGET), "--jobs", "2"),
        *("--run-dir", str(run), "--quiet", "--json"),
    ]


def value(faq, run, url):
    done = subprocess.run(command(faq, run, url), capture_output=True, text=True, env=_environment())
    assert done.returncode in {0, 4}, done.stderr
    return json.loads(done.stdout)


def _environment():
    return {**os.environ, "OPENAI_API_KEY": "sk-very-secret-0123456789"}


def test_what_each_bullet_is_worth_to_a_real_model(weights, faq, tmp_path, capsys):
    run, port = tmp_path / "run", free_port()
    with LocalServer(weights, port=port) as server:
        started = time.monotonic()
        direct = anyio.run(_direct, faq, server.base_url)
        first = value(faq, tmp_path / "undisturbed", server.base_url)
        seconds = time.monotonic() - started
        _kill_in_the_middle(faq, run, server)
    with LocalServer(weights, port=port) as server:
        resumed = value(faq, run, server.base_url)
    with capsys.disabled():
        sys.stdout.write(_table(first, direct, seconds))
    assert resumed["units"] == first["units"], "two runs at temperature 0, one of them killed, give the same values"
    assert resumed["anchors"] == first["anchors"]
    assert first["anchors"]["full"]["value"] == pytest.approx(direct["full"])
    assert first["anchors"]["empty"]["value"] == pytest.approx(direct["none"])
    _facts_count_and_distractors_do_not(first, direct)
    for file in (*run.rglob("*"), *(tmp_path / "undisturbed").rglob("*")):
        assert not file.is_file() or b"very-secret" not in file.read_bytes(), file


def _kill_in_the_middle(faq, run, server):
    """Kill the run when a third of its rollouts are paid for, and the server with it."""
    with subprocess.Popen(command(faq, run, server.base_url), stdout=subprocess.DEVNULL, env=_environment()) as process:
        while _paid(run) < BUDGET // 3:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    server.stop()


def _paid(run):
    if not (run / "manifest.json").exists():
        return 0
    done = subprocess.run(
        [sys.executable, "-m", "skillsv", "status", str(run), "--json"], capture_output=True, text=True
    )
    return json.loads(done.stdout)["rollouts"] if done.returncode == 0 else 0


def _facts_count_and_distractors_do_not(valuation, direct):
    for unit in valuation["units"]:
        text = direct["lines"].get(unit["lines"][0])
        if text is None:
            continue
        if not direct["fact"][text]:
            assert unit["net"]["low"] <= 0, text
        elif direct["drop"][text] == pytest.approx(3 / direct["tasks"]):  # the model can use it: see `_direct`
            assert unit["net"]["low"] > 0, text


async def _direct(faq, url):
    """Full, none, and full without each bullet, asked directly: no estimator, no ledger.

    Without a fact, only its own questions are asked (it takes minutes otherwise); without the first distractor, all.
    """
    text = (faq / "SKILL.md").read_text()
    tasks = load_tasks(faq / "evals" / "tasks.jsonl")
    agent = make_agent(MODEL, AgentOptions(chat=ChatOptions(base_url=url, **DECODING)))
    full = await _scores(agent, text, tasks)
    none = await _scores(agent, None, tasks)
    _, facts, _, distractors = _parts(text)
    strata = list(dict.fromkeys(task.stratum for task in tasks))
    drop, fact, lines = {}, {}, {}
    for number, bullet in enumerate((*facts, *distractors)):
        is_fact = number < len(facts)
        asked = tasks if number <= len(facts) else ()  # one distractor asked in full is enough to compare with
        own = [task for task in asked if not is_fact or task.stratum == strata[number]]
        without = await _scores(agent, text.replace(bullet, ""), own)
        drop[bullet] = sum(full[task.id] - without[task.id] for task in own) / len(tasks) if own else math.nan
        fact[bullet] = is_fact
        lines[text[: text.index(bullet)].count("\n") + 1] = bullet
    used = sum(loss == pytest.approx(3 / len(tasks)) for loss in drop.values())
    assert used >= FACTS // 2, "the model can use most of the facts: all three questions are right with, wrong without"
    return {
        "full": sum(full.values()) / len(tasks),
        "none": sum(none.values()) / len(tasks),
        "tasks": len(tasks),
        "drop": drop,
        "fact": fact,
        "lines": lines,
    }


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


def _table(valuation, direct, seconds):
    spent = valuation["rollouts"]["spent"]
    rows = [
        f"\nfull {direct['full']:.3f}, none {direct['none']:.3f}; {spent} rollouts, {seconds:.0f} s with the direct runs",
        "| line | value | interval | dropped alone | verdict |",
        "|---|--:|---|--:|---|",
    ]
    for unit in valuation["units"]:
        net, bullet = unit["net"], direct["lines"].get(unit["lines"][0])
        words = bullet.strip().removeprefix("- ") if bullet else f"({unit['kind']})"
        drop = direct["drop"].get(bullet, math.nan)
        alone = "" if math.isnan(drop) else f"{drop:.3f}"
        rows.append(
            f"| {words} | {net['value']:.3f} | {net['low']:.3f} to {net['high']:.3f} | {alone} | {unit['verdict']} |"
        )
    return "\n".join(rows) + "\n"
