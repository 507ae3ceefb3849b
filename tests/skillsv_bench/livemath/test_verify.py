"""Which label an answer names: a table of the ways in which models answer."""

from __future__ import annotations

import anyio
import pytest

from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.benchmark import Source
from skillsv_bench.livemath import BENCHMARK
from skillsv_bench.livemath.tasks import LabelVerifier, find_chosen_label, load

CHOICES = [
    {"label": "A", "text": "Every knot is a sum."},
    {"label": "B", "text": "E"},
    {"label": "C", "text": "It is\nso."},
    {"label": "D", "text": " B is false."},
]


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("<answer>C</answer>", "C"),
        ("<ANSWER> c </Answer>", "C"),
        ("<answer>\n  D.\n</answer>", "D"),
        ("<answer>B)</answer>", "B"),
        ("<answer>B:</answer>", "B"),
        ("<answer>A).:</answer>", "A"),
        ("first <answer>A</answer> but no: <answer>B</answer>", "B"),  # the last counts
        ("<answer>A</answer>\nSo it is D", "A"),  # tags before lines
        ("<answer>A\n\n and B</answer>", "A"),  # across lines; the first word
        ("A", "A"),
        ("b", "B"),
        ("B.", "B"),
        ("Thinking\n\nC)\n\n  ", "C"),  # the last line that is not empty
        ("A\nI do not know", None),
        ("<answer>every KNOT is a sum.</answer>", "A"),  # the text of a choice
        ("<answer>It is\nso.</answer>", "C"),
        ("<answer>B is false.</answer>", "D"),  # the whole text goes before the first word
        ("<answer>E</answer>", "B"),  # no label, but the text of one
        ("<answer>B: since E holds</answer>", "B"),
        ("D because of A", "D"),
        ("(B)", None),  # only what trails is dropped
        ("**B**", None),
        ("The answer is B", None),
        ("<answer></answer>", None),
        ("<answer>F</answer>", None),
        ("<answer>A", None),  # never closed: the last line, which is no label
        ("", None),
        (" \n\t", None),
        (".", None),
    ],
)
def test_the_label_that_an_answer_names(answer, label):
    assert find_chosen_label(answer, CHOICES) == label


def score(task: Task, answer: str) -> float:
    return anyio.run(lambda: LabelVerifier().score(task, Outcome(answer=answer), None))


def test_the_right_label_is_one_and_all_others_are_zero(data):
    for task in load(Source(data=data)).tasks:
        marks = {label: score(task, f"<answer>{label}</answer>") for label in "ABCDE"}
        assert marks == {label: float(label == task.target) for label in "ABCDE"}


def test_on_the_published_questions_gold_is_one_and_nothing_is_zero(shared, tmp_path):
    tasks = load(Source(data=shared / "livemath")).tasks
    assert len(tasks) == 52

    async def scores(name: str) -> list[float]:
        agent, verifier = BENCHMARK.builtin_agents[name](), BENCHMARK.verifier()
        return [await verifier.score(task, await agent.run(None, task, 0, tmp_path), tmp_path) for task in tasks]

    assert set(anyio.run(scores, "reference")) == {1.0}
    assert set(anyio.run(scores, "noop")) == {0.0}
    assert set(anyio.run(scores, "rules")) == {0.0}  # no skill, no competence
    assert sum(anyio.run(scores, "always-a")) == sum(task.target == "A" for task in tasks)
