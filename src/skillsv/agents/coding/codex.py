"""Codex: `codex exec --json`, with a provider of our own, because that of the program cannot switch off retries."""

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
    text_of,
)

_SERVER = "https://api.openai.com/v1"
"""The provider's own server."""

_KEY = "OPENAI_API_KEY"


def _launch(model: ModelChoice) -> Launch:
    provider = {
        "name": "skillsv",
        "base_url": model.base_url or _SERVER,
        "wire_api": "responses",
        "env_key": _KEY,
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    table = ",".join(f"{name}={json.dumps(value)}" for name, value in provider.items())  # strings as in TOML
    settings = (
        "model_provider=skillsv",
        f"model_providers.skillsv={{{table}}}",
        "analytics.enabled=false",
        "skills.bundled.enabled=false",
    )
    return Launch(
        arguments=(
            *("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "danger-full-access"),
            *(
                "-m",
                model.name,
                *(word for setting in settings for word in ("-c", setting)),
                "--disable",
                "plugins",
                "-",
            ),
        )
    )


def _read(output: ProgramOutput) -> ProgramReport:
    report = ProgramReport()
    for event in output.events():
        match event.get("type"):
            case "item.completed":
                _read_item(event.get("item"), report, output)
            case "turn.completed":
                usage = event.get("usage")
                report.add_tokens([get(usage, "input_tokens")], [get(usage, "output_tokens")])
                report.answer = report.answer or ""
            case "turn.failed":
                report.error = text_of(get(event, "error", "message")) or "the turn failed"
            case "error":
                report.error = report.error or text_of(event.get("message"))
    return report


def _read_item(item: JSON | None, report: ProgramReport, output: ProgramOutput) -> None:
    """Read one finished item. Items of the type `error` are warnings, such as an unknown model's missing metadata."""
    match get(item, "type"):
        case "agent_message":
            report.answer = text_of(get(item, "text"))
            report.steps.append(report.answer)
        case "command_execution":
            command = text_of(get(item, "command"))
            report.add_call("command", command)
            if get(item, "exit_code") == 0 and output.opens_skill("command", {"command": command}):
                report.opened = True


CODEX = CodingProgram(
    name="codex",
    executable="codex",
    package="npm install -g @openai/codex",
    least_version=(0, 166),
    skill_dir=".agents/skills",
    launch=_launch,
    read=_read,
    keys=lambda _: (_KEY,),
    url_variable="OPENAI_BASE_URL",
    example="gpt-5.5",
)
