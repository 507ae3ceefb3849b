"""Turns errors of a provider, and responses without an answer, into failures of the rollout."""

from __future__ import annotations

from pydantic_ai import exceptions as provider
from pydantic_ai.messages import ModelResponse

from skillsv.agents.provider_errors import PERMANENT_STATUSES, PROMPT_TOO_LONG, STATUSES
from skillsv.errors import AgentFailure, SettingsError, SkillSVError, Unavailable
from skillsv.model.rollout import FailureKind
from skillsv.sandbox.redaction import redact

KINDS: tuple[tuple[type[Exception], FailureKind], ...] = (
    (provider.ModelRateLimitError, FailureKind.RATE_LIMIT),
    (provider.ModelContextWindowExceededError, FailureKind.CONTEXT_OVERFLOW),
    (provider.ModelRequestRejectedError, FailureKind.BAD_REQUEST),
    (provider.ModelUnavailableError, FailureKind.OVERLOAD),
    (provider.ModelServerError, FailureKind.OVERLOAD),
    (provider.ModelTimeoutError, FailureKind.TIMEOUT),
    (provider.ModelRequestTimeout, FailureKind.TIMEOUT),
    (provider.ModelConnectionError, FailureKind.CONNECTION),
    (provider.ContentFilterError, FailureKind.REFUSAL),
    (provider.ModelAPIError, FailureKind.BAD_OUTPUT),  # a body that is not JSON, or that breaks the protocol
    (provider.UnexpectedModelBehavior, FailureKind.BAD_OUTPUT),
)
"""The first row that matches decides: subclasses stand before their base classes."""

PERMANENT_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (provider.ModelAuthenticationError, PERMANENT_STATUSES[401]),
    (provider.ModelNotFoundError, PERMANENT_STATUSES[404]),
    (provider.ModelQuotaExceededError, PERMANENT_STATUSES[402]),
)
"""Errors that every rollout would meet, with a hint for the user: they end the run without retries."""

SYNONYMS = {
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
}
"""Finish reasons of OpenAI-compatible servers that the library does not know."""

_NORMAL_REASONS = frozenset({"stop", "length", "tool_call"})
"""Finish reasons of a response that the provider did not interrupt."""

_MAX_MESSAGE_CHARS = 500
"""Longest part of a provider's message that a failure quotes."""

_MAX_REASON_CHARS = 60
"""Longest part of an unknown finish reason that a failure quotes."""

_MAX_RETRY_SECONDS = 3600.0
"""Longest wait that a provider can ask for; a date far in the future would stop the run for years."""


def to_failure(error: provider.AgentRunError | provider.UserError, place: str) -> SkillSVError:
    """The error as a failure of the rollout or of the run, without keys in its message.

    `place` is the name of the model or the address of its server.
    """
    message = _error_message(error)
    if isinstance(error, provider.UserError):
        return SettingsError(f"the model cannot be used like this: {message}")
    for permanent, hint in PERMANENT_ERRORS:
        if isinstance(error, permanent):
            return Unavailable(f"{place} will not serve any rollout: {message}", hint=hint)
    kind = next((kind for error_type, kind in KINDS if isinstance(error, error_type)), FailureKind.CRASH)
    if type(error) is provider.ModelHTTPError:
        kind = STATUSES.get(error.status_code, FailureKind.BAD_REQUEST)
    if kind in {FailureKind.BAD_REQUEST, FailureKind.OVERLOAD} and PROMPT_TOO_LONG.search(message):
        kind = FailureKind.CONTEXT_OVERFLOW
    return AgentFailure(f"{place} failed: {message}", kind=kind, retry_after=_retry_delay(error))


def _retry_delay(error: Exception) -> float | None:
    """The wait in seconds that the provider asks for, up to the limit."""
    wait: float | None = getattr(error, "retry_after", None)
    return None if wait is None else min(wait, _MAX_RETRY_SECONDS)


def _error_message(error: Exception) -> str:
    message = " ".join(redact(str(error)).split())
    return message if len(message) <= _MAX_MESSAGE_CHARS else f"{message[:_MAX_MESSAGE_CHARS]}…"


def finish_reason(response: ModelResponse) -> str:
    """Why the response ended, by the library's names, else by the provider's. Without a reason it is `stop`."""
    if response.finish_reason is not None:
        return response.finish_reason
    reason = (response.provider_details or {}).get("finish_reason") or "stop"
    return SYNONYMS.get(str(reason).lower(), str(reason))


def is_cut(response: ModelResponse) -> bool:
    """Whether the token limit cut this answer. A tool call is not an answer: the model gets an error for a cut call."""
    return finish_reason(response) == "length" and not response.tool_calls


def find_missing_answer(response: ModelResponse, max_tokens: int) -> AgentFailure | None:
    """The failure of a response without text and tool calls, or of one that the provider interrupted; else None."""
    reason = finish_reason(response)
    if reason == "content_filter":
        return AgentFailure("the provider refused to answer (content filter).", kind=FailureKind.REFUSAL)
    if reason not in _NORMAL_REASONS:
        shown = redact(reason)[:_MAX_REASON_CHARS]
        return AgentFailure(f"the provider ended the answer with the reason `{shown}`.", kind=FailureKind.BAD_OUTPUT)
    if response.tool_calls or (response.text or "").strip():
        return None
    if reason == "length":
        message = f"the model used all its {max_tokens} tokens without an answer; raise --max-output-tokens."
        return AgentFailure(message, kind=FailureKind.EMPTY_ANSWER)
    return AgentFailure("the model gave an empty answer.", kind=FailureKind.EMPTY_ANSWER)
