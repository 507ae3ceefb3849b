"""aider: `aider --message-file`, which knows no skills and prints no JSON; its answer is in the history of its chat."""

from __future__ import annotations

from skillsv.agents.coding.program import (
    CodingProgram,
    Launch,
    ModelChoice,
    ProgramOutput,
    ProgramReport,
    get,
    json_lines,
)
from skillsv.agents.coding.providers import check_provider, litellm_status, provider_keys

_PROMPT, _CHAT, _EVENTS = "prompt.txt", "chat.md", "events.jsonl"
"""Files in its home: the task, the history of the chat, and its log of events."""

_PRICES = ".aider/caches/model_prices_and_context_window.json"
"""Its price list. Without a copy that is not empty it downloads one."""

_OFF = (
    *("git", "gitignore", "analytics", "check-update", "show-release-notes", "show-model-warnings", "pretty", "stream"),
    *("detect-urls", "suggest-shell-commands", "auto-lint"),
)
"""Options that are switched off: repositories, downloads, questions, colours."""


def _launch(model: ModelChoice) -> Launch:
    server = {} if model.base_url is None else {"OPENAI_API_BASE": model.base_url}
    return Launch(
        arguments=(
            *("--model", model.name, "--message-file", f"{{home}}/{_PROMPT}", "--yes-always", "--map-tokens", "0"),
            *("--chat-history-file", f"{{home}}/{_CHAT}", "--input-history-file", "{home}/input.txt"),
            *("--analytics-log", f"{{home}}/{_EVENTS}", *(f"--no-{option}" for option in _OFF)),
        ),
        variables={**server, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        home_files={_PRICES: '{"none": {}}'},
    )


def _read(output: ProgramOutput) -> ProgramReport:
    """Read the answer. After an error of the API its exit code is 0, and only the history shows the error."""
    report = ProgramReport(opened=bool(output.skill_names), turns=0)
    for event in json_lines(output.results.get(_EVENTS, "")):
        if event.get("event") == "message_send":
            found = event.get("properties")
            report.turns = (report.turns or 0) + 1
            # a cost of zero means that it knows no price
            cost = get(found, "cost") or None
            report.add_tokens([get(found, "prompt_tokens")], [get(found, "completion_tokens")], cost)
    said, notes = _after_prompt(output.results.get(_CHAT, ""))
    report.steps += [*notes, said]
    errors = [note for note in notes if note.startswith("litellm.")]
    if errors:
        report.error, report.status = errors[-1], litellm_status(errors[-1])
    elif report.turns:
        report.answer = said
    return report


def _after_prompt(chat: str) -> tuple[str, list[str]]:
    """The answer, and aider's own lines (`> ...`), after the last line of the prompt (`#### ...`)."""
    lines = chat.splitlines()
    start = max((number for number, line in enumerate(lines) if line.startswith("####")), default=-1) + 1
    notes = [line[2:].strip() for line in lines[start:] if line.startswith("> ")]
    return "\n".join(line for line in lines[start:] if not line.startswith("> ")).strip(), notes


AIDER = CodingProgram(
    name="aider",
    executable="aider",
    package="pip install aider-chat",
    least_version=(0, 86),
    skill_dir=None,
    launch=_launch,
    read=_read,
    keys=provider_keys,
    prompt_file=_PROMPT,
    result_files=(_CHAT, _EVENTS),
    url_variable="OPENAI_API_BASE",
    example="anthropic/claude-sonnet-5",
    check_model=check_provider,
)
