"""pi: `pi -p --mode json`, with models and settings in its home."""

from __future__ import annotations

import json

from skillsv.agents.coding.program import (
    JSON,
    CodingProgram,
    Launch,
    ModelChoice,
    ProgramOutput,
    ProgramReport,
    get,
    items,
    text_of,
)
from skillsv.agents.coding.providers import check_provider, provider_keys, split_model
from skillsv.model.rollout import Ending


def _launch(model: ModelChoice) -> Launch:
    files = {".pi/agent/settings.json": json.dumps({"retry": {"enabled": False}})}
    if model.base_url is not None:
        provider, name = split_model(model.name)
        entry = {
            "baseUrl": model.base_url,
            "api": "openai-completions",
            "apiKey": provider_keys(model.name)[0],  # the name of the variable
            "models": [{"id": name}],
        }
        files[".pi/agent/models.json"] = json.dumps({"providers": {provider: entry}})
    return Launch(
        arguments=("-p", "--mode", "json", "--no-session", "--model", model.name),
        variables={"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
        home_files=files,
    )


def _read(output: ProgramOutput) -> ProgramReport:
    """Read the events. Its exit code is 0 also after an error: only `stopReason` says so."""
    report, turns = ProgramReport(), 0
    opening: set[str] = set()
    for event in output.events():
        match event.get("type"):
            case "tool_execution_start":
                name, arguments = text_of(event.get("toolName")), event.get("args")
                report.add_call(name, arguments)
                if output.opens_skill(name, arguments):
                    opening.add(text_of(event.get("toolCallId")))
            case "tool_execution_end":
                report.opened |= not event.get("isError") and event.get("toolCallId") in opening
            case "message_end" if get(event, "message", "role") == "assistant":
                turns += 1
                _read_message(event["message"], report)
    report.turns = turns
    return report


def _read_message(message: JSON, report: ProgramReport) -> None:
    usage, reason = message.get("usage"), message.get("stopReason")
    inputs = [get(usage, name) for name in ("input", "cacheRead", "cacheWrite")]
    # a cost of zero means that it knows no price
    report.add_tokens(inputs, [get(usage, "output")], get(usage, "cost", "total") or None)
    text = "".join(
        text_of(get(block, "text")) for block in items(message.get("content")) if get(block, "type") == "text"
    )
    report.steps += [text] if text else []
    report.error = None
    if reason in {"error", "aborted"}:
        report.error = text_of(message.get("errorMessage")) or str(reason)
    elif reason != "toolUse":
        report.answer = text
        report.ending = Ending.CUT if reason == "length" else Ending.ANSWERED


PI = CodingProgram(
    name="pi",
    executable="pi",
    package="npm install -g @earendil-works/pi-coding-agent",
    least_version=(0, 74),
    skill_dir=".pi/skills",
    launch=_launch,
    read=_read,
    keys=provider_keys,
    example="anthropic/claude-sonnet-5",
    check_model=check_provider,
    dropped_lines=b'{"type":"message_update"',  # each repeats the whole message so far
)
