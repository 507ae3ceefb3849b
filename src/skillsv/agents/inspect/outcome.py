"""Turns a finished sample of Inspect into the outcome of a rollout, or into a failure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool

from skillsv.agents.inspect.evaluate import EvaluationSettings
from skillsv.agents.inspect.sample import OFFERED, TOOL
from skillsv.errors import AgentFailure, SkillSVError, Unavailable
from skillsv.model.rollout import Ending, FailureKind, Outcome, Usage
from skillsv.sandbox.redaction import redact

KINDS: tuple[tuple[re.Pattern[str], FailureKind], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"context.{0,20}(length|size|window)|exceed_context|prompt is too long", FailureKind.CONTEXT_OVERFLOW),
        (r"RateLimit|rate.limit|too many requests|\b429\b", FailureKind.RATE_LIMIT),
        (r"InternalServerError|ServiceUnavailable|overloaded|\b(500|502|503|529)\b", FailureKind.OVERLOAD),
        (r"Timeout|timed out", FailureKind.TIMEOUT),
        (r"Connect(ion)?\w*Error|connection (refused|reset)", FailureKind.CONNECTION),
        (r"^(BadRequest|UnprocessableEntity)\w*Error", FailureKind.BAD_REQUEST),
    )
)
"""Failure kinds by the message of an error: Inspect's log has no error type. The first match decides, else CRASH."""

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partially correct, incorrect, no answer."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Words that Inspect reads as scores."""

_WRONG_KEY = re.compile(r"^(AuthenticationError|PermissionDeniedError)\b")
"""Errors that every rollout would meet."""

_CUT_REASONS = frozenset({"max_tokens", "model_length"})
"""Stop reasons of an answer that a token limit cut."""

_MAX_TRANSCRIPT_CHARS = 200_000
"""Longest transcript that the ledger stores for one rollout."""

_MAX_MESSAGE_CHARS = 500
"""Longest part of an error message that a failure quotes."""


def read_outcome(sample: EvalSample, settings: EvaluationSettings, *, output_bytes: int) -> Outcome:
    """The outcome of a sample. Raises AgentFailure for an error. A limit of the Inspect task itself is no error."""
    usage, answer = _sum_usage(sample), sample.output.completion
    if sample.error is not None:
        raise to_failure(sample.error.message, usage)
    if sample.limit is not None and sample.limit.type == "time" and settings.timeout_is_failure:
        raise AgentFailure(f"no answer within {settings.seconds} s.", kind=FailureKind.TIMEOUT, usage=usage)
    failure = _find_missing_answer(sample)
    if failure is not None:
        failure.usage = usage
        raise failure
    if len(answer.encode("utf-8", errors="replace")) > output_bytes:
        message = f"the Inspect task answered more than {output_bytes} bytes."
        raise AgentFailure(message, kind=FailureKind.BAD_OUTPUT, usage=usage)
    return Outcome(
        answer=redact(answer),
        usage=usage,
        transcript=redact("\n\n".join(_transcript_parts(sample.messages)))[:_MAX_TRANSCRIPT_CHARS] or None,
        opened=_skill_opened(sample),
        scores=dict(_read_scores(sample)),
        ending=Ending.CUT if _stop_reason(sample) in _CUT_REASONS else Ending.ANSWERED,
    )


def to_failure(message: str, usage: Usage) -> SkillSVError:
    """The failure for the error message of a sample, with the usage before the error."""
    text = " ".join(redact(message).split())
    quoted = text if len(text) <= _MAX_MESSAGE_CHARS else f"{text[:_MAX_MESSAGE_CHARS]}…"
    if _WRONG_KEY.search(message):
        return Unavailable(f"the model will not serve any rollout: {quoted}", hint="Check the key in the environment.")
    kind = next((kind for pattern, kind in KINDS if pattern.search(message)), FailureKind.CRASH)
    return AgentFailure(f"the sample failed: {quoted}", kind=kind, usage=usage)


def _find_missing_answer(sample: EvalSample) -> AgentFailure | None:
    """The failure of a sample whose provider refused to answer, or whose model gave no text and no tool call.

    An empty answer is no failure if the solver asked no model (its scorer reads other results), or if a limit of the
    Inspect task ended the sample.
    """
    reason, answer = _stop_reason(sample), sample.output.completion.strip()
    if reason == "content_filter":
        return AgentFailure("the provider refused to answer (content filter).", kind=FailureKind.REFUSAL)
    if answer or reason is None or sample.limit is not None or sample.output.message.tool_calls:
        return None
    if reason in _CUT_REASONS:
        return AgentFailure("the model used all its tokens without an answer.", kind=FailureKind.EMPTY_ANSWER)
    return AgentFailure("the model gave an empty answer.", kind=FailureKind.EMPTY_ANSWER)


def _stop_reason(sample: EvalSample) -> str | None:
    """Why the last answer ended; None if the solver asked no model."""
    return sample.output.choices[0].stop_reason if sample.output.choices else None


def _sum_usage(sample: EvalSample) -> Usage:
    """The usage of all models of the sample, including those that grade."""
    total = Usage()
    for usage in sample.model_usage.values():
        cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        total += Usage(
            input_tokens=usage.input_tokens + cached, output_tokens=usage.output_tokens, usd=usage.total_cost
        )
    return total


def _transcript_parts(messages: list[ChatMessage]) -> Iterator[str]:
    """The texts and tool calls of the model, and the results of its tools."""
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            if message.text:
                yield message.text
            yield from (f"> {call.function} {call.arguments}" for call in message.tool_calls or [])
        elif isinstance(message, ChatMessageTool):
            yield message.text


def _skill_opened(sample: EvalSample) -> bool | None:
    """Whether the model called the skill tool; None if it did not have the tool."""
    if not sample.store.get(OFFERED):
        return None
    answers = (message for message in sample.messages if isinstance(message, ChatMessageAssistant))
    return any(call.function == TOOL for message in answers for call in message.tool_calls or [])


def _read_scores(sample: EvalSample) -> Iterator[tuple[str, float]]:
    """Scores by the name of the scorer, or `name.part` for a part. Values that are not numbers are left out."""
    for name, score in (sample.scores or {}).items():
        parts = score.value.items() if isinstance(score.value, dict) else [("", score.value)]
        for part, value in parts:
            number = _to_number(value)
            if number is not None:
                yield (f"{name}.{part}" if part else name), number


def _to_number(value: Any) -> float | None:
    if isinstance(value, str):
        value = LETTERS.get(value.strip(), WORDS.get(value.strip().lower(), value))
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
