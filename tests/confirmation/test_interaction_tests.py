"""Tests of pairs: what removing one unit, the other and both shows."""

import numpy as np
import pytest

from skillsv.compiler import compile_files
from skillsv.confirmation.interaction_tests import Relation, classify_pair, pair_coalitions, pairs_policy
from skillsv.errors import RecordsError
from skillsv.model.skill import FileRole, Skill, SkillFile

TEXT = b"---\nname: p\ndescription: d\n---\n\n- one\n- two\n- three\n\nThese:\n\n1. four\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    file = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=TEXT, size=len(TEXT), digest="x")
    return compile_files(Skill(name="p", root=tmp_path_factory.mktemp("p"), main="SKILL.md", files=(file,)))


def classify(compiled, score, tasks=60):
    """Test the first two units on a game: `score(one is present, two is present, number of the task)`."""
    one, two = compiled.execution[:2]
    policy = pairs_policy(pair_coalitions(compiled, one, two), [f"t{n}" for n in range(tasks)])
    requests = next(policy)
    answers = {
        request: score(one in request.coalition, two in request.coalition, int(request.task[1:]))
        for request in requests
    }
    with pytest.raises(StopIteration) as done:
        policy.send(answers)
    return classify_pair(
        compiled, (one, two), done.value.value, level=0.95, resolution=0.02, rng=np.random.default_rng(0)
    )


@pytest.mark.parametrize(
    ("score", "relation", "interaction"),
    [
        (lambda one, two, n: float(n % 3 > 0 or one or two), Relation.REDUNDANT, 1 / 3),
        (lambda one, two, n: float(n % 3 > 0 or (one and two)), Relation.COMPLEMENTARY, -1 / 3),
        (lambda one, two, n: float(one if n % 2 else two), Relation.UNRESOLVED, 0.0),
    ],
)
def test_losses_of_one_the_other_and_both_give_the_relation(compiled, score, relation, interaction):
    pair = classify(compiled, score)
    assert pair.relation is relation
    assert pair.interaction.value == pytest.approx(interaction)


def test_many_tasks_without_interaction_prove_independence(compiled):
    pair = classify(compiled, lambda one, two, n: float(one if n % 2 else two), tasks=600)
    assert pair.relation is Relation.INDEPENDENT
    assert pair.without_first.value == pytest.approx(0.5)


def test_a_task_with_a_missing_score_is_left_out(compiled):
    assert classify(compiled, lambda one, two, n: None if n == 3 and not one else 1.0).tasks == 59
    with pytest.raises(RecordsError):
        classify(compiled, lambda one, two, n: None if one and two else 1.0)


def test_a_unit_and_its_dependant_cannot_be_tested_as_a_pair(compiled):
    *_, lead, item = compiled.execution
    with pytest.raises(RecordsError, match="need each other"):
        pair_coalitions(compiled, lead, item)
