"""opencode: `opencode run --format json`, with its settings in an environment variable."""

from __future__ import annotations

import json
from typing import Any

from skillsv.agents.coding.program import (
    JSON,
    CodingProgram,
    Launch,
    ModelChoice,
    ProgramOutput,
    ProgramReport,
    get,
    text_of,
)
from skillsv.agents.coding.providers import check_provider, provider_keys, split_model
from skillsv.model.rollout import Ending

_OFF = ("OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD")
"""Variables that keep it from contacting other hosts."""

_INSTALLED = {
    ".config/opencode/node_modules/.keep": "",
    ".config/opencode/package-lock.json": json.dumps(
        {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    ),
}
"""Files that look like an installed plugin package. Without them it installs one from npm in every new home."""


def _launch(model: ModelChoice) -> Launch:
    config: dict[str, Any] = {"share": "disabled", "autoupdate": False, "snapshot": False, "lsp": False}
    config["permission"] = {"edit": "allow", "bash": "allow", "webfetch": "deny"}
    if model.base_url is not None:
        provider, name = split_model(model.name)
        options = {"baseURL": model.base_url, "apiKey": f"{{env:{provider_keys(model.name)[0]}}}"}
        entry = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {name: {}}}
        config["provider"] = {provider: entry}
    return Launch(
        # without a title it asks the model for one
        arguments=("run", "--format", "json", "--title", "task", "-m", model.name),
        variables={"OPENCODE_CONFIG_CONTENT": json.dumps(config), **dict.fromkeys(_OFF, "1")},
        home_files=_INSTALLED,
    )


def _read(output: ProgramOutput) -> ProgramReport:
    report, turns, answer = ProgramReport(), 0, ""
    for event in output.events():
        part = event.get("part")
        match event.get("type"):
            case "text":
                answer += text_of(get(part, "text"))
            case "tool_use":
                answer = ""  # what it said before a tool call is not its answer
                _read_call(part, report, output)
            case "step_finish":
                turns += 1
                _read_tokens(part, report)
                if get(part, "reason") != "tool-calls":
                    report.answer = answer
                    report.ending = Ending.CUT if get(part, "reason") == "length" else Ending.ANSWERED
            case "error":
                data = get(event, "error", "data")
                report.error = text_of(get(data, "message")) or text_of(get(event, "error", "name")) or "an error"
                status = get(data, "statusCode")
                report.status = status if isinstance(status, int) else None
    report.turns = turns
    report.steps += [answer] if answer else []
    return report


def _read_call(part: JSON | None, report: ProgramReport, output: ProgramOutput) -> None:
    tool, arguments = text_of(get(part, "tool")), get(part, "state", "input")
    report.add_call(tool, arguments)
    if get(part, "state", "status") == "completed":
        report.opened |= output.opens_skill(tool, arguments)
    else:
        report.steps.append(text_of(get(part, "state", "error")))


def _read_tokens(part: JSON | None, report: ProgramReport) -> None:
    tokens = get(part, "tokens")
    inputs = [get(tokens, "input"), get(tokens, "cache", "read"), get(tokens, "cache", "write")]
    # a cost of zero means that it knows no price
    report.add_tokens(inputs, [get(tokens, "output"), get(tokens, "reasoning")], get(part, "cost") or None)


OPENCODE = CodingProgram(
    name="opencode",
    executable="opencode",
    package="npm install -g opencode-ai",
    least_version=(1, 18),
    skill_dir=".agents/skills",  # in a folder `.opencode` it would install packages
    launch=_launch,
    read=_read,
    keys=provider_keys,
    example="anthropic/claude-sonnet-5",
    check_model=check_provider,
    uses=(("rg", "without ripgrep it cannot open a skill, and does not say so"),),
)
