"""Tasks, agents and verifiers that a program passes as objects."""

from dataclasses import dataclass

import pytest

import skillsv as sv
from skillsv.errors import SettingsError, TaskError
from skillsv.model.rollout import Outcome

LIMITS = {"max_rollouts": 300, "panel_b": 0}


@dataclass
class Question:
    """A task of the caller's own kind, which scores its answers."""

    input: str
    right: str

    def score(self, answer):
        return float(answer == self.right)


def test_tasks_may_be_task_objects(skill, answer):
    tasks = [sv.Task(id=f"t{index}", input=word, target="yes") for index, word in enumerate(("red", "blue") * 6)]
    run = sv.value(skill, tasks=tasks, agent=answer, **LIMITS)
    assert run.valuation["colours/bullet-1"].net.value == pytest.approx(0.5)


def test_objects_score_their_own_answers(skill, answer):
    tasks = [Question(input=word, right="yes") for word in ("red", "blue") * 6]
    run = sv.value(skill, tasks=tasks, agent=answer, **LIMITS)
    assert run.valuation["colours/bullet-1"].net.value == pytest.approx(0.5)


def test_a_function_verifies(skill, answer):
    tasks = [{"input": word} for word in ("red", "blue") * 6]
    seen = []

    def check(task, answer):
        seen.append((task.input, answer))
        return 0.5 if answer == "yes" else 0.0

    run = sv.value(skill, tasks=tasks, agent=answer, verifier=check, **LIMITS)
    assert run.valuation["colours/bullet-1"].net.value == pytest.approx(0.25)
    assert ("red", "yes") in seen


def test_an_object_with_the_protocol_is_an_agent(skill, tasks):
    class Known:
        fingerprint = "known/1"

        async def run(self, skill, task, replicate, workspace):
            return Outcome(answer="yes" if skill and task.input in skill.text else "no")

    run = sv.value(skill, tasks=tasks, agent=Known(), **LIMITS)
    assert run.valuation["colours/bullet-1"].net.value == pytest.approx(1 / 3)


def test_evaluate_replaces_agent_and_verifier(skill):
    texts = []

    def evaluate(text, example):
        texts.append(text)
        return float(example["word"] in text)

    run = sv.value(skill, evaluate=evaluate, examples=[{"word": word} for word in ("red", "blue") * 6], **LIMITS)
    assert run.valuation["colours/bullet-1"].net.value == pytest.approx(0.5)
    assert "" in texts, "the bare agent gets no text"


@pytest.mark.parametrize("value", ["0.5", None, object(), float("nan")])
def test_evaluate_that_returns_no_score_is_a_failure(skill, value):
    with pytest.raises(sv.errors.Unavailable, match="instead of a score"):
        sv.value(skill, evaluate=lambda text, example: value, examples=list("abcdefgh"), attempts=1, **LIMITS)


def test_evaluate_beyond_one_is_a_failure_of_the_verifier(skill):
    with pytest.raises(sv.errors.Unavailable, match="instead of a score from 0 to 1"):
        sv.value(skill, evaluate=lambda text, example: 3, examples=list("abcdefgh"), attempts=1, **LIMITS)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"tasks": []}, "There are no tasks"),
        ({"tasks": {"input": "x"}}, "holds no tasks"),
        ({"tasks": [{"target": "x"}]}, r"tasks\[0\]: There is no `input`"),
        ({"tasks": [{"input": "x", "target": "x"}, 7]}, r"tasks\[1\]: A int is not a task"),
        ({"tasks": [{"id": "a", "input": "x"}, {"id": "a", "input": "y"}]}, "occurs twice"),
    ],
)
def test_wrong_tasks_are_named(skill, answer, arguments, error):
    with pytest.raises(TaskError, match=error):
        sv.value(skill, agent=answer, **arguments, **LIMITS)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"evaluate": len}, "evaluate and examples belong together"),
        ({"evaluate": len, "examples": [1], "agent": "rules"}, "stand for tasks, agent and verifier"),
        ({"tasks": [{"input": "x", "target": "y"}], "agent": 7}, "an agent cannot be a int"),
        ({"tasks": [{"input": "x", "target": "y"}], "agent": "nobody"}, "is not an agent"),
        ({"tasks": [{"input": "x", "target": "y"}]}, "needs tasks and an agent"),
        ({"agent": "rules", "no_such_setting": 1, "tasks": [{"input": "x"}]}, "no setting 'no_such_setting'"),
    ],
)
def test_arguments_that_contradict_are_refused(skill, arguments, error):
    with pytest.raises(SettingsError, match=error):
        sv.value(skill, **{**LIMITS, **arguments})


@pytest.mark.heavy
def test_the_agent_never_sees_the_target(skill, tasks):
    seen = []

    def answer(skill, task):
        seen.append({name: task[name] for name in task})
        with pytest.raises(AttributeError):
            task.target  # noqa: B018
        return "yes" if skill and task.input in skill.text else "no"

    sv.value(skill, tasks=[{**task, "target": "yes", "solution": "secret"} for task in tasks], agent=answer, **LIMITS)
    assert seen
    assert "secret" not in str(seen)
