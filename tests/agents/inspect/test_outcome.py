"""Finished samples of Inspect become outcomes or failures."""

from __future__ import annotations

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from inspect_ai import Task
from inspect_ai.log import EvalSample, EvalSampleLimit
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from skillsv.agents.inspect.evaluate import EvaluationSettings
from skillsv.agents.inspect.outcome import _MAX_TRANSCRIPT_CHARS, read_outcome, to_failure
from skillsv.errors import AgentFailure, Unavailable
from skillsv.model.rollout import Ending, FailureKind, Usage

SETTINGS = EvaluationSettings(task=Task(), seconds=5, logs=None)


def sample(**fields) -> EvalSample:
    output = ModelOutput.from_content("mockllm/model", "an answer")
    return EvalSample(**{"id": "1-a", "epoch": 1, "input": "?", "target": "", "output": output, **fields})


def outcome(settings=SETTINGS, **fields):
    return read_outcome(sample(**fields), settings, output_bytes=100)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("RateLimitError(\"Error code: 429 - {'error': ...}\")", FailureKind.RATE_LIMIT),
        ("InternalServerError('Error code: 529 - overloaded_error')", FailureKind.OVERLOAD),
        ("APITimeoutError('Request timed out.')", FailureKind.TIMEOUT),
        ("TimeoutError()", FailureKind.TIMEOUT),
        ("APIConnectionError('Connection error.')", FailureKind.CONNECTION),
        ("BadRequestError('Error code: 400 - unknown field')", FailureKind.BAD_REQUEST),
        ("BadRequestError('maximum context length is 8192 tokens')", FailureKind.CONTEXT_OVERFLOW),
        ("KeyError('skill')", FailureKind.CRASH),
        ("ValueError('1429 apples')", FailureKind.CRASH),
    ],
)
def test_the_message_of_an_error_decides_the_failure_kind(message, kind):
    failure = to_failure(message, Usage(input_tokens=3))
    assert isinstance(failure, AgentFailure)
    assert (failure.kind, failure.usage) == (kind, Usage(input_tokens=3))
    assert message in failure.what


def test_a_wrong_key_ends_the_run():
    assert isinstance(to_failure("AuthenticationError('Error code: 401')", Usage()), Unavailable)


def test_our_timeout_is_a_failure_and_a_limit_of_the_inspect_task_is_not():
    late = EvalSampleLimit(type="time", limit=5)
    with pytest.raises(AgentFailure, match="no answer within 5 s") as caught:
        outcome(limit=late)
    assert caught.value.kind == FailureKind.TIMEOUT
    assert outcome(EvaluationSettings(task=Task(time_limit=3), seconds=5, logs=None), limit=late).answer == "an answer"
    assert outcome(limit=EvalSampleLimit(type="token", limit=5)).answer == "an answer"


def ended(text, reason):
    return ModelOutput.from_content("mockllm/model", text, stop_reason=reason)


@pytest.mark.parametrize(
    ("text", "reason", "kind"),
    [
        ("", "stop", FailureKind.EMPTY_ANSWER),
        (" ", "max_tokens", FailureKind.EMPTY_ANSWER),
        ("I can", "content_filter", FailureKind.REFUSAL),
    ],
)
def test_a_model_without_an_answer_is_a_failure_with_its_usage(text, reason, kind):
    usage = {"a": ModelUsage(input_tokens=10, output_tokens=2)}
    with pytest.raises(AgentFailure) as caught:
        outcome(output=ended(text, reason), model_usage=usage)
    assert (caught.value.kind, caught.value.usage) == (kind, Usage(input_tokens=10, output_tokens=2))


def test_an_answer_cut_by_a_token_limit_has_the_ending_cut():
    assert outcome().ending is Ending.ANSWERED
    assert outcome(output=ended("an ans", "max_tokens")).ending is Ending.CUT
    assert outcome(output=ended("an ans", "model_length")).ending is Ending.CUT


def test_a_solver_that_asks_no_model_may_leave_an_empty_answer():
    assert outcome(output=ModelOutput()).answer == ""
    assert outcome(output=ended("", "stop"), limit=EvalSampleLimit(type="token", limit=5)).answer == ""


def test_usage_is_the_sum_over_all_models():
    first = ModelUsage(input_tokens=10, output_tokens=2, input_tokens_cache_write=4, total_cost=0.5)
    second = ModelUsage(input_tokens=1, output_tokens=1)
    assert outcome(model_usage={"a": first, "b": second}).usage == Usage(input_tokens=15, output_tokens=3, usd=0.5)
    assert outcome().usage == Usage()


@pytest.mark.parametrize(
    ("value", "scores"),
    [
        ("C", {"s": 1.0}),
        ("P", {"s": 0.5}),
        ("I", {"s": 0.0}),
        ("N", {"s": 0.0}),
        (True, {"s": 1.0}),
        ("no", {"s": 0.0}),
        ("0.25", {"s": 0.25}),
        (0.75, {"s": 0.75}),
        ({"x": "C", "y": "elephant"}, {"s.x": 1.0}),
        ("elephant", {}),
        (float("nan"), {}),
        ([1, 0], {}),
    ],
)
def test_scores_are_numbers_and_other_values_are_left_out(value, scores):
    assert outcome(scores={"s": Score(value=value)}).scores == scores


def test_keys_are_redacted_in_answers(key):
    assert outcome(output=ModelOutput.from_content("m", f"it is {key}")).answer == "it is [OPENAI_API_KEY]"


def test_the_transcript_is_redacted_before_it_is_shortened(monkeypatch):
    key = "sk-0123456789-abcdefghij"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    text = "x" * (_MAX_TRANSCRIPT_CHARS - 12) + key
    transcript = outcome(messages=[ChatMessageAssistant(content=text)]).transcript
    assert len(transcript) == _MAX_TRANSCRIPT_CHARS
    assert key[:8] not in transcript
