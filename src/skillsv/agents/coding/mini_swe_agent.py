"""mini-swe-agent: `mini`, which knows no skills; its trajectory is a JSON file."""

from __future__ import annotations

import json

import msgspec

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
from skillsv.agents.coding.providers import check_provider, litellm_status, provider_keys

_PROMPT, _TRAJECTORY = "task.yaml", "trajectory.json"
"""Files in its home: the task, and what it did."""


def _launch(model: ModelChoice) -> Launch:
    server = {} if model.base_url is None else dict.fromkeys(("OPENAI_API_BASE", "OPENAI_BASE_URL"), model.base_url)
    return Launch(
        arguments=(
            *("-y", "--exit-immediately", "-m", model.name),
            *("-c", "mini.yaml", "-c", f"{{home}}/{_PROMPT}", "-o", f"{{home}}/{_TRAJECTORY}"),
        ),
        variables={
            **server,
            "MSWEA_CONFIGURED": "true",  # else it asks for a model
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors",  # a model without a price is no error
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it downloads a price list
        },
    )


def _encode_prompt(prompt: str) -> str:
    """A part of its configuration. JSON is YAML, too."""
    return json.dumps({"run": {"task": prompt}})


def _read(output: ProgramOutput) -> ProgramReport:
    report = ProgramReport(opened=bool(output.skill_names))
    try:
        trajectory = msgspec.json.decode(output.results.get(_TRAJECTORY, ""))
    except (msgspec.DecodeError, RecursionError):
        return report
    for message in items(get(trajectory, "messages")):
        for action in items(get(message, "extra", "actions")):
            report.add_call("bash", get(action, "command"))
        usage = get(message, "extra", "response", "usage")
        if usage is not None:
            report.add_tokens([get(usage, "prompt_tokens")], [get(usage, "completion_tokens")])
    _read_info(get(trajectory, "info"), report, trajectory)
    return report


def _read_info(info: JSON | None, report: ProgramReport, trajectory: JSON) -> None:
    calls = get(info, "model_stats", "api_calls")
    report.turns = calls if isinstance(calls, int) else None
    # a cost of zero means that it knows no price
    report.add_tokens([], [], get(info, "model_stats", "instance_cost") or None)
    if get(info, "exit_status") == "Submitted":
        report.answer = text_of(get(info, "submission"))
        report.steps.append(report.answer)
        return
    last = items(get(trajectory, "messages"))[-1:]
    report.error = text_of(get(last[0], "content")) if last else ""
    report.error = report.error or text_of(get(info, "exit_status")) or "it did not finish"
    report.status = litellm_status(report.error)


MINI_SWE_AGENT = CodingProgram(
    name="mini-swe-agent",
    executable="mini",
    package="pip install mini-swe-agent mcp",
    least_version=(2, 4),
    skill_dir=None,
    launch=_launch,
    read=_read,
    keys=provider_keys,
    prompt_file=_PROMPT,
    encode_prompt=_encode_prompt,
    result_files=(_TRAJECTORY,),
    url_variable="OPENAI_API_BASE",
    example="anthropic/claude-sonnet-5",
    check_model=check_provider,
)
