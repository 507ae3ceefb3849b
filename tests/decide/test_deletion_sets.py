"""Sets of units that may be deleted together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skillsv as sv
from skillsv.decide.deletion_sets import candidate_sets, closures, find_kept, neighbours
from skillsv.errors import SettingsError

SKILL = """\
# Tone

Be brief in all that follows:

- Use short words.
- Use few words, as told under [Facts](#facts).

# Facts

- The sky is blue.
- Grass is green.
"""


def compiled():
    return sv.compile(SKILL).compiled


@settings(deadline=None, max_examples=40)
@given(order=st.permutations(range(7)), seed=st.integers(0, 5))
def test_every_candidate_and_neighbour_leaves_a_closed_coalition(order, seed):
    skill = compiled()
    units = skill.execution
    kept = frozenset(units[seed : seed + 1])
    groups = closures(skill, kept)
    ordered = [units[place % len(units)] for place in order]
    for removed in candidate_sets([ordered], groups):
        assert not removed & kept
        for other in (removed, *neighbours(removed, groups)):
            left = skill.everything - other
            assert skill.closure(left) == left


def test_a_kept_unit_keeps_what_it_needs():
    skill = compiled()
    leaf = next(unit for unit in skill.execution if skill.needs[unit])
    assert not set(skill.needs[leaf]) & closures(skill, {leaf}).keys()


def test_units_are_kept_by_id_section_and_glob_and_an_unknown_one_is_refused():
    skill = compiled()
    facts = find_kept(skill, ["Facts"])
    assert len(facts) == 2
    assert find_kept(skill, ["facts/*"]) == facts
    assert find_kept(skill, [min(facts)]) == {min(facts)}
    with pytest.raises(SettingsError, match="fits no unit"):
        find_kept(skill, ["nothing-*"])
