"""Why a model stopped, and whether it left an answer."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse

from skillsv.agents.redact import redacted
from skillsv.errors import AgentFailure
from skillsv.model.rollout import FailureKind

SYNONYMS = {
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
}
"""Words of OpenAI-compatible servers that the library does not know."""

_ANSWERED = frozenset({"stop", "length", "tool_call"})
_LONGEST_REASON = 60


def finish_reason(response: ModelResponse) -> str:
    """The reason in the library's words, else in the provider's own. A provider that gives none means `stop`."""
    if response.finish_reason is not None:
        return response.finish_reason
    raw = (response.provider_details or {}).get("finish_reason") or "stop"
    return SYNONYMS.get(str(raw).lower(), str(raw))


def is_cut(response: ModelResponse) -> bool:
    """Whether the token limit ended this answer. A tool call is no answer: the model hears that it is broken."""
    return finish_reason(response) == "length" and not response.tool_calls


def missing_answer(response: ModelResponse, max_tokens: int) -> AgentFailure | None:
    """The failure of a response that holds no answer and no tool call, or that the provider broke off."""
    reason = finish_reason(response)
    if reason == "content_filter":
        return AgentFailure("the provider refused to answer (content filter).", kind=FailureKind.REFUSAL)
    if reason not in _ANSWERED:
        word = redacted(reason)[:_LONGEST_REASON]
        return AgentFailure(f"the provider ended the answer with the reason `{word}`.", kind=FailureKind.BAD_OUTPUT)
    if response.tool_calls or (response.text or "").strip():
        return None
    if reason == "length":
        what = f"the model used all its {max_tokens} tokens without an answer; raise --max-output-tokens."
        return AgentFailure(what, kind=FailureKind.EMPTY_ANSWER)
    return AgentFailure("the model gave an empty answer.", kind=FailureKind.EMPTY_ANSWER)
