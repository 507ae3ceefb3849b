"""Gemini CLI: `gemini -o stream-json`, with settings in its home."""

from __future__ import annotations

import json

from skillsv.agents.coding.program import (
    CodingProgram,
    Launch,
    ModelChoice,
    ProgramOutput,
    ProgramReport,
    get,
    text_of,
)

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
"""Its settings: the key of the environment, no retries, no updates, no statistics."""

_STATUS_BASE = 256
"""Its exit code after an error is the HTTP status modulo 256."""


def _launch(model: ModelChoice) -> Launch:
    return Launch(
        # without -y it lists the skill and cannot open it; without --skip-trust it ends with exit code 55
        arguments=("-o", "stream-json", "-m", model.name, "--skip-trust", "-y"),
        variables={} if model.base_url is None else {"GOOGLE_GEMINI_BASE_URL": model.base_url},
        home_files={".gemini/settings.json": json.dumps(_SETTINGS)},
    )


def _read(output: ProgramOutput) -> ProgramReport:
    report, answer = ProgramReport(), ""
    opening: set[str] = set()
    for event in output.events():
        match event.get("type"):
            case "message" if event.get("role") == "assistant":
                answer += text_of(event.get("content"))
            case "tool_use":
                answer = ""  # what it said before a tool call is not its answer
                name, arguments = text_of(event.get("tool_name")), event.get("parameters")
                report.add_call(name, arguments)
                if output.opens_skill(name, arguments):
                    opening.add(text_of(event.get("tool_id")))
            case "tool_result":
                report.opened |= event.get("status") == "success" and event.get("tool_id") in opening
            case "result":
                stats = event.get("stats")
                report.add_tokens([get(stats, "input_tokens")], [get(stats, "output_tokens")])
                if event.get("status") == "success":
                    report.answer = answer
                    report.steps.append(answer)
                else:
                    report.error = text_of(get(event, "error", "message")) or "an error without a message"
    if report.error is not None and output.code + _STATUS_BASE in range(400, 512):
        report.status = output.code + _STATUS_BASE
    return report


GEMINI = CodingProgram(
    name="gemini",
    executable="gemini",
    package="npm install -g @google/gemini-cli",
    least_version=(0, 61),
    skill_dir=".gemini/skills",
    launch=_launch,
    read=_read,
    keys=lambda _: ("GEMINI_API_KEY",),
    url_variable="GOOGLE_GEMINI_BASE_URL",
    example="gemini-2.5-pro",
)
