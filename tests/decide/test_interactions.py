"""Pairs of units that seem redundant or complementary by the records of a run."""

import pytest

from skillsv.compiler import compile_files
from skillsv.decide.interactions import find_partners, find_suspected_pairs
from skillsv.model.coalition import Observation, Operator
from skillsv.model.skill import FileRole, Skill, SkillFile

TEXT = b"---\nname: p\ndescription: d\n---\n\n- one\n- two\n- three\n\nThese:\n\n1. four\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    file = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=TEXT, size=len(TEXT), digest="x")
    return compile_files(Skill(name="p", root=tmp_path_factory.mktemp("p"), main="SKILL.md", files=(file,)))


def test_redundant_units_are_suspected_from_observations(compiled):
    """In an adaptive run: unit one changes a score only where unit two is absent, and the other way round."""
    one, two, three, lead, item = compiled.execution
    contexts = [set(), {three}, {lead, item}, {three, lead, item}]
    observations = [
        observation(task, coalition, score=float(bool(coalition & {one, two})))
        for task in range(20)
        for first, second in ((one, two), (two, one))
        for context in contexts
        for coalition in added({compiled.trigger, *context}, first, second)
    ]
    (pair,) = find_suspected_pairs(compiled, (), observations)
    assert {pair.first, pair.second} == {one, two}
    assert pair.score < 0
    assert find_partners(compiled, (), observations) == {one: (two, 0.0, 2.0), two: (one, 0.0, 2.0)}


def added(units, first, second):
    """The coalition of these units, then with the first added, then with both."""
    below = frozenset(units)
    return below, below | {first}, below | {first, second}


def observation(task, coalition, score):
    return Observation(coalition=coalition, operator=Operator.DELETE, task=f"t{task}", replicate=0, score=score, why="")


def test_no_records_give_no_suspected_pairs(compiled):
    assert find_suspected_pairs(compiled, (), ()) == []
    assert find_partners(compiled, (), ()) == {}


def test_units_that_change_no_score_themselves_are_suspected_as_partners(compiled):
    """Unit one changes scores only beside three others, and no two records differ by one of those alone."""
    one, two, *others = compiled.execution
    observations = [
        observation(task, frozenset({compiled.trigger, *context, *added_unit}), score=float(bool(added_unit) and full))
        for task in range(20)
        for context, full in (((), False), ((two,), False), (others, True), ((two, *others), True))
        for added_unit in ((), (one,))
    ]
    found = find_suspected_pairs(compiled, (), observations)
    assert {(pair.first, pair.second) for pair in found} == {(one, other) for other in others}
    assert all(pair.score > 0 for pair in found)
    assert find_partners(compiled, (), observations) == {one: (others[0], 1.0, 0.0)}
