"""Our own verifiers give the scores that their version stands for."""

import anyio
import pytest

from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.verifiers import make_verifier, specs
from skillsv.tasks.verifiers.table import TARGET_VERIFIERS

SCORES = [
    ("exact", "Yes", " Yes\n", 1),
    ("exact", "Yes", "yes", 0),
    ("exact", "Yes", "yes!", 0),
    ("exact", ["a", "b"], "b", 1),
    ("contains", "alpha", "say ALPHA now", 1),
    ("contains", ["alpha", "beta"], "alpha", 1),
    ("contains", "alpha", "", 0),
    ("regex", "^a+$", "aaa", 1),
    ("regex", "^a+$", "ab", 0),
    ("numeric", 3.5, "The answer is 3.5", 1),
    ("numeric", 3.5, "3.6", 0),
    ("numeric:0.2", 3.5, "3.6", 1),
    ("choice", "B", "The answer is (B)", 1),
    ("choice", "B", "C", 0),
    ("json", {"a": 1}, '{"a": 1.0}', 1),
    ("json", {"a": 1}, '{"a": 2}', 0),
    ("all", [{"verifier": "contains", "target": "a"}, {"verifier": "regex", "target": "b$", "not": True}], "a c", 1),
    ("all", [{"verifier": "contains", "target": "a"}, {"verifier": "regex", "target": "b$", "not": True}], "a b", 0),
]
"""Verifier, target, answer and score of version 1."""


@pytest.mark.parametrize(("spec", "target", "answer", "score"), SCORES)
def test_scores_of_version_1(spec, target, answer, score, tmp_path):
    """Where this fails on purpose, raise the verifier's number in `GRADING_VERSIONS`: stored scores are not reused."""
    task = Task(id="t", input="?", target=target, verifier=spec)
    verifier = make_verifier([task], folder=tmp_path)
    assert anyio.run(verifier.score, task, Outcome(answer=answer), tmp_path) == score


def test_every_verifier_that_compares_answers_has_a_version():
    assert set(TARGET_VERIFIERS) <= set(specs.GRADING_VERSIONS)
    assert {spec.partition(":")[0] for spec, *_ in SCORES} == set(TARGET_VERIFIERS)


def test_another_version_of_a_verifier_changes_the_digests_of_its_tasks_alone(tmp_path, monkeypatch):
    tasks = [Task(id="t", input="?", target="a", verifier=spec) for spec in ("exact", "contains")]
    before = [TaskDigester(tmp_path)(task).digest for task in tasks]
    monkeypatch.setattr(specs, "GRADING_VERSIONS", {**specs.GRADING_VERSIONS, "exact": 2})
    after = [TaskDigester(tmp_path)(task).digest for task in tasks]
    assert after[0] != before[0]
    assert after[1] == before[1]
