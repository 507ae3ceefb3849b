import numpy as np
import pytest

from skillsv.compile import compile_files
from skillsv.confirm.pairs import Relation, judge_pair, pairs_policy, partners_of, removals, suspected
from skillsv.errors import RecordsError
from skillsv.model.coalition import Observation, Operator
from skillsv.model.skill import FileRole, Skill, SkillFile

TEXT = b"---\nname: p\ndescription: d\n---\n\n- one\n- two\n- three\n\nThese:\n\n1. four\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    file = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=TEXT, size=len(TEXT), digest="x")
    return compile_files(Skill(name="p", root=tmp_path_factory.mktemp("p"), main="SKILL.md", files=(file,)))


def judged(compiled, score, tasks=60):
    """Test the first two units on a game: `score(one is there, two is there, number of the task)`."""
    one, two = compiled.execution[:2]
    policy = pairs_policy(removals(compiled, one, two), [f"t{n}" for n in range(tasks)])
    wanted = next(policy)
    answers = {each: score(one in each.coalition, two in each.coalition, int(each.task[1:])) for each in wanted}
    with pytest.raises(StopIteration) as done:
        policy.send(answers)
    return judge_pair(compiled, (one, two), done.value.value, level=0.95, resolution=0.02, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("score", "relation", "interaction"),
    [
        (lambda one, two, n: float(n % 3 > 0 or one or two), Relation.REDUNDANT, 1 / 3),
        (lambda one, two, n: float(n % 3 > 0 or (one and two)), Relation.COMPLEMENTARY, -1 / 3),
        (lambda one, two, n: float(one if n % 2 else two), Relation.UNRESOLVED, 0.0),
    ],
)
def test_removing_one_the_other_and_both_shows_how_they_act_together(compiled, score, relation, interaction):
    found = judged(compiled, score)
    assert found.relation is relation
    assert found.interaction.value == pytest.approx(interaction)


def test_enough_tasks_without_any_interaction_show_independence(compiled):
    found = judged(compiled, lambda one, two, n: float(one if n % 2 else two), tasks=600)
    assert found.relation is Relation.INDEPENDENT
    assert found.without_first.value == pytest.approx(0.5)


def test_a_missing_score_drops_its_task(compiled):
    assert judged(compiled, lambda one, two, n: None if n == 3 and not one else 1.0).tasks == 59
    with pytest.raises(RecordsError):
        judged(compiled, lambda one, two, n: None if one and two else 1.0)


def test_a_unit_and_what_it_carries_are_no_pair(compiled):
    *_, lead, item = compiled.execution
    with pytest.raises(RecordsError, match="need each other"):
        removals(compiled, lead, item)


def test_observations_raise_suspicion_as_chains_do(compiled):
    """In an adaptive run: unit one only ever counts where unit two is absent, and the other way round."""
    one, two, three, lead, item = compiled.execution
    contexts = [set(), {three}, {lead, item}, {three, lead, item}]
    seen = []
    for task in range(20):
        for first, second in ((one, two), (two, one)):
            for extra in contexts:
                below = frozenset({compiled.trigger}) | extra
                for coalition in (below, below | {first}, below | {first, second}):
                    score = float(bool(coalition & {one, two}))
                    seen.append(
                        Observation(
                            coalition=coalition, operator=Operator.DELETE, task=f"t{task}", replicate=0, score=score, why=""
                        )
                    )  # fmt: skip
    (found,) = suspected(compiled, (), seen)
    assert {found.first, found.second} == {one, two}
    assert found.score < 0
    assert partners_of(compiled, (), seen) == {one: (two, 0.0, 2.0), two: (one, 0.0, 2.0)}


def test_no_records_raise_no_suspicion(compiled):
    assert suspected(compiled, (), ()) == []
    assert partners_of(compiled, (), ()) == {}
