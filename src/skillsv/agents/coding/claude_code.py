"""Claude Code: `claude -p`, with events as JSON lines."""

from __future__ import annotations

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
from skillsv.model.rollout import Ending

_TOOLS = "Skill,Read,Bash,Edit,Write"
"""The tools it may use without asking. In its default mode it denies Bash and Write and still ends with exit code 0."""


def _launch(model: ModelChoice) -> Launch:
    server = {} if model.base_url is None else {"ANTHROPIC_BASE_URL": model.base_url}
    return Launch(
        arguments=(
            *("-p", "--output-format", "stream-json", "--verbose", "--model", model.name),
            *("--no-session-persistence", "--strict-mcp-config", "--tools", _TOOLS, "--allowedTools", _TOOLS),
        ),
        variables={
            **server,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",  # its own retries take minutes; SkillSV has retries
        },
    )


def _read(output: ProgramOutput) -> ProgramReport:
    report = ProgramReport()
    opening: set[str] = set()
    for event in output.events():
        match event.get("type"):
            case "assistant":
                for block in items(get(event, "message", "content")):
                    _read_block(block, report, output, opening)
            case "user":
                results = [block for block in items(get(event, "message", "content")) if isinstance(block, dict)]
                succeeded = {get(block, "tool_use_id") for block in results if not block.get("is_error")}
                report.opened = report.opened or bool(opening & succeeded)
            case "result":
                _read_result(event, report)
    return report


def _read_block(block: object, report: ProgramReport, output: ProgramOutput, opening: set[str]) -> None:
    if get(block, "type") == "text":
        report.steps.append(text_of(get(block, "text")))
    elif get(block, "type") == "tool_use":
        name, arguments = text_of(get(block, "name")), get(block, "input")
        report.add_call(name, arguments)
        if output.opens_skill(name, arguments):
            opening.add(text_of(get(block, "id")))


def _read_result(event: JSON, report: ProgramReport) -> None:
    """Read the last event. After an error of the API its `subtype` is still "success"; `is_error` is not."""
    usage = event.get("usage")
    inputs = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    report.add_tokens([get(usage, name) for name in inputs], [get(usage, "output_tokens")], event.get("total_cost_usd"))
    turns = event.get("num_turns")
    report.turns = turns if isinstance(turns, int) else None
    if event.get("is_error") or event.get("subtype") != "success":
        status = event.get("api_error_status")
        report.error = text_of(event.get("result")) or text_of(event.get("subtype")) or "an error without a message"
        report.status = status if isinstance(status, int) else None
        return
    report.answer = text_of(event.get("result"))
    if event.get("stop_reason") == "max_tokens":
        report.ending = Ending.CUT


CLAUDE_CODE = CodingProgram(
    name="claude-code",
    executable="claude",
    package="npm install -g @anthropic-ai/claude-code",
    least_version=(2, 1),
    skill_dir=".claude/skills",
    launch=_launch,
    read=_read,
    keys=lambda _: ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    url_variable="ANTHROPIC_BASE_URL",
    example="claude-sonnet-5",
    prices=True,
)
