"""What a provider's error means for the rollout: which kind of failure, and whether any retry can mend it."""

from __future__ import annotations

import re

from pydantic_ai import exceptions as provider
from pydantic_ai.messages import ModelResponse

from skillsv.errors import AgentFailure, SettingsError, SkillSVError, Unavailable
from skillsv.model.rollout import FailureKind
from skillsv.sandbox.redaction import redact

_MESSAGE = 500
_LONGEST_PATIENCE = 3600.0
_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window|limit)|exceed_context|(prompt|input) is too long"
    r"|(prompt|input) token.{0,40}exceed|reduce the length",
    re.IGNORECASE,
)
"""How providers say that a prompt is too long, where their code for it says no more than that the request is bad."""

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
    (provider.ModelAPIError, FailureKind.BAD_OUTPUT),  # a body that is no JSON, or not what the protocol promises
    (provider.UnexpectedModelBehavior, FailureKind.BAD_OUTPUT),
)
"""The first row that fits decides; special kinds stand before general ones."""

STATUSES = {
    408: FailureKind.TIMEOUT,
    409: FailureKind.OVERLOAD,
    413: FailureKind.CONTEXT_OVERFLOW,
    425: FailureKind.OVERLOAD,
}
"""What the library leaves without a class of its own; all others below 500 are requests that no retry mends."""

HOPELESS: tuple[tuple[type[Exception], str], ...] = (
    (provider.ModelAuthenticationError, "Check the key in the environment, and that it may use this model."),
    (provider.ModelNotFoundError, "Check the model's name and the base URL."),
    (provider.ModelQuotaExceededError, "Top up the account, then run the same command again: it resumes."),
)
"""What fails for every rollout alike: the run ends at once instead of retrying."""


def failure_of(error: provider.AgentRunError | provider.UserError, place: str) -> SkillSVError:
    """The error as the runner understands it, without any key in its words. `place` is the model or its server."""
    said = _said(error)
    if isinstance(error, provider.UserError):
        return SettingsError(f"the model cannot be used like this: {said}")
    for kind_of_error, hint in HOPELESS:
        if isinstance(error, kind_of_error):
            return Unavailable(f"{place} will not serve any rollout: {said}", hint=hint)
    kind = next((kind for fits, kind in KINDS if isinstance(error, fits)), FailureKind.CRASH)
    if type(error) is provider.ModelHTTPError:
        kind = STATUSES.get(error.status_code, FailureKind.BAD_REQUEST)
    if kind in {FailureKind.BAD_REQUEST, FailureKind.OVERLOAD} and _TOO_LONG.search(said):
        kind = FailureKind.CONTEXT_OVERFLOW
    return AgentFailure(f"{place} failed: {said}", kind=kind, retry_after=_patience(error))


def _patience(error: Exception) -> float | None:
    """The wait that the provider asks for. By a clock that is years ahead of ours, it would never end."""
    wait: float | None = getattr(error, "retry_after", None)
    return None if wait is None else min(wait, _LONGEST_PATIENCE)


def _said(error: Exception) -> str:
    words = " ".join(redact(str(error)).split())
    return words if len(words) <= _MESSAGE else f"{words[:_MESSAGE]}…"


# Why a model stopped, and whether it left an answer.

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
        word = redact(reason)[:_LONGEST_REASON]
        return AgentFailure(f"the provider ended the answer with the reason `{word}`.", kind=FailureKind.BAD_OUTPUT)
    if response.tool_calls or (response.text or "").strip():
        return None
    if reason == "length":
        what = f"the model used all its {max_tokens} tokens without an answer; raise --max-output-tokens."
        return AgentFailure(what, kind=FailureKind.EMPTY_ANSWER)
    return AgentFailure("the model gave an empty answer.", kind=FailureKind.EMPTY_ANSWER)
