"""What a finished sample of Inspect means for its rollout."""

from __future__ import annotations

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from inspect_ai import Task
from inspect_ai.log import EvalSample, EvalSampleLimit
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from skillsv.agents.inspect_task.evaluate import Plan
from skillsv.agents.inspect_task.outcome import outcome_of, trouble_of
from skillsv.errors import AgentFailure, Unavailable
from skillsv.model.rollout import FailureKind, Usage

PLAN = Plan(task=Task(), seconds=5, logs=None)


def sample(**fields) -> EvalSample:
    output = ModelOutput.from_content("mockllm/model", "an answer")
    return EvalSample(**{"id": "1-a", "epoch": 1, "input": "?", "target": "", "output": output, **fields})


def outcome(plan=PLAN, **fields):
    return outcome_of(sample(**fields), plan, output_bytes=100)


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
def test_the_words_of_an_error_say_which_failure_it_is(message, kind):
    failure = trouble_of(message, Usage(input_tokens=3))
    assert isinstance(failure, AgentFailure)
    assert (failure.kind, failure.usage) == (kind, Usage(input_tokens=3))
    assert message in failure.what


def test_a_wrong_key_ends_the_run():
    assert isinstance(trouble_of("AuthenticationError('Error code: 401')", Usage()), Unavailable)


def test_out_of_our_time_is_no_answer_and_a_limit_of_the_task_is_part_of_it():
    late = EvalSampleLimit(type="time", limit=5)
    with pytest.raises(AgentFailure, match="no answer within 5 s") as caught:
        outcome(limit=late)
    assert caught.value.kind == FailureKind.TIMEOUT
    assert outcome(Plan(task=Task(time_limit=3), seconds=5, logs=None), limit=late).answer == "an answer"
    assert outcome(limit=EvalSampleLimit(type="token", limit=5)).answer == "an answer"


def test_usage_is_that_of_all_models_and_unknown_stays_unknown():
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
def test_scores_are_numbers_and_what_is_none_never_becomes_a_zero(value, scores):
    assert outcome(scores={"s": Score(value=value)}).scores == scores


def test_keys_are_taken_out_of_answers(key):
    assert outcome(output=ModelOutput.from_content("m", f"it is {key}")).answer == "it is [OPENAI_API_KEY]"
