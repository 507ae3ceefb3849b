"""A finished sample of Inspect as the outcome of a rollout, or as the failure that it was."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool

from skillsv.agents.inspect.evaluate import Plan
from skillsv.agents.inspect.sample import OFFERED, TOOL
from skillsv.errors import AgentFailure, SkillSVError, Unavailable
from skillsv.model.rollout import Ending, FailureKind, Outcome, Usage
from skillsv.sandbox.redaction import redact

_LONGEST_TRANSCRIPT = 200_000
_MESSAGE = 500

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
"""Inspect keeps the words of an error, not its type; the first row that fits decides, else it is a crash."""

_NO_KEY = re.compile(r"^(AuthenticationError|PermissionDeniedError)\b")

_CUT = frozenset({"max_tokens", "model_length"})

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def outcome_of(sample: EvalSample, plan: Plan, *, output_bytes: int) -> Outcome:
    """What the sample came to. Raises AgentFailure for an error; a limit of the task itself is part of its answer."""
    usage, answer = _usage(sample), sample.output.completion
    if sample.error is not None:
        raise trouble_of(sample.error.message, usage)
    if sample.limit is not None and sample.limit.type == "time" and plan.cut_short:
        raise AgentFailure(f"no answer within {plan.seconds} s.", kind=FailureKind.TIMEOUT, usage=usage)
    failure = _missing_answer(sample)
    if failure is not None:
        failure.usage = usage
        raise failure
    if len(answer.encode("utf-8", errors="replace")) > output_bytes:
        what = f"the task answered more than {output_bytes} bytes."
        raise AgentFailure(what, kind=FailureKind.BAD_OUTPUT, usage=usage)
    return Outcome(
        answer=redact(answer),
        usage=usage,
        transcript=redact("\n\n".join(_spoken(sample.messages))[:_LONGEST_TRANSCRIPT]) or None,
        opened=_opened(sample),
        scores=dict(_scores(sample)),
        ending=Ending.CUT if _stop_reason(sample) in _CUT else Ending.ANSWERED,
    )


def _missing_answer(sample: EvalSample) -> AgentFailure | None:
    """The failure of a sample whose model was refused an answer, or gave none and called no tool.

    A solver that asks no model may leave an empty answer: its scorer looks elsewhere. A limit of the task itself may
    end the sample before the model answers.
    """
    reason, said = _stop_reason(sample), sample.output.completion.strip()
    if reason == "content_filter":
        return AgentFailure("the provider refused to answer (content filter).", kind=FailureKind.REFUSAL)
    if said or reason is None or sample.limit is not None or sample.output.message.tool_calls:
        return None
    if reason in _CUT:
        return AgentFailure("the model used all its tokens without an answer.", kind=FailureKind.EMPTY_ANSWER)
    return AgentFailure("the model gave an empty answer.", kind=FailureKind.EMPTY_ANSWER)


def _stop_reason(sample: EvalSample) -> str | None:
    """Why the last answer ended; None where no model was asked."""
    return sample.output.choices[0].stop_reason if sample.output.choices else None


def trouble_of(message: str, usage: Usage) -> SkillSVError:
    """The error of one sample as the runner understands it, with what was paid before it came."""
    words = " ".join(redact(message).split())
    said = words if len(words) <= _MESSAGE else f"{words[:_MESSAGE]}…"
    if _NO_KEY.search(message):
        return Unavailable(f"the model will not serve any rollout: {said}", hint="Check the key in the environment.")
    kind = next((kind for pattern, kind in KINDS if pattern.search(message)), FailureKind.CRASH)
    return AgentFailure(f"the sample failed: {said}", kind=kind, usage=usage)


def _usage(sample: EvalSample) -> Usage:
    """All that the sample used, models that grade it included."""
    total = Usage()
    for used in sample.model_usage.values():
        cached = (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
        total += Usage(input_tokens=used.input_tokens + cached, output_tokens=used.output_tokens, usd=used.total_cost)
    return total


def _spoken(messages: list[ChatMessage]) -> Iterator[str]:
    """What the model said and what its tools gave back; what it was told is known."""
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            if message.text:
                yield message.text
            yield from (f"> {call.function} {call.arguments}" for call in message.tool_calls or [])
        elif isinstance(message, ChatMessageTool):
            yield message.text


def _opened(sample: EvalSample) -> bool | None:
    """Whether the model called the skill tool; None where it was not offered: a prompt is not opened."""
    if not sample.store.get(OFFERED):
        return None
    spoken = (message for message in sample.messages if isinstance(message, ChatMessageAssistant))
    return any(call.function == TOOL for message in spoken for call in message.tool_calls or [])


def _scores(sample: EvalSample) -> Iterator[tuple[str, float]]:
    """Scores by the scorer's name, parts of a score as `name.part`. What is no number is left out, not made a zero."""
    for name, score in (sample.scores or {}).items():
        parts = score.value.items() if isinstance(score.value, dict) else [("", score.value)]
        for part, value in parts:
            number = _number(value)
            if number is not None:
                yield (f"{name}.{part}" if part else name), number


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = LETTERS.get(value.strip(), WORDS.get(value.strip().lower(), value))
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
