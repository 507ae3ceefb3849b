"""Sets of units that may be deleted together."""

import pytest
from hypothesis import HealthCheck, given, settings
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


def test_a_section_is_kept_by_its_own_name_wherever_it_is():
    text = "# Rules\n\n## Two\n\n- a\n- b\n\n## One\n\n- c\n\n# More\n\n## Two\n\n- d\n"
    skill = sv.compile(text).compiled
    kept = {name: len(find_kept(skill, [name])) for name in ("Two", "Rules/Two", "One", "Rules")}
    assert kept == {"Two": 3, "Rules/Two": 2, "One": 1, "Rules": 3}
    with pytest.raises(SettingsError, match="'Three' fits no unit") as refused:
        find_kept(skill, ["Three"])
    assert "Rules/Two" in refused.value.hint


def test_a_section_is_kept_by_each_part_of_its_path_with_the_sections_below_it():
    text = "# Title\n\n## Rules\n\n### Two\n\n- a\n\n#### Deep\n\n- b\n\n### One\n\n- c\n"
    skill = sv.compile(text).compiled
    below = {unit.id for unit in skill.units if "Two" in unit.section}
    assert len({unit.section for unit in skill.units if unit.id in below}) == 2
    for name in ("Two", "Rules/Two", "Title/Rules/Two", "T?o", "Title/*/Two"):
        assert find_kept(skill, [name]) == below, name
    with pytest.raises(SettingsError, match="'Title/Two' fits no unit"):
        find_kept(skill, ["Title/Two"])


def test_a_heading_with_brackets_is_kept_by_its_own_name():
    skill = sv.compile("# Safety [must]\n\n- a\n\n# Other\n\n- b\n").compiled
    assert find_kept(skill, ["Safety [must]"]) == {
        unit.id for unit in skill.units if unit.section == ("Safety [must]",)
    }


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_refused(name):
    with pytest.raises(SettingsError, match="an empty name fits no unit"):
        find_kept(compiled(), [name])


def write_skill_with_files(folder):
    """A skill with one file that two lines lead to, one that a single line does, and one behind a file."""
    (folder / "references").mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: desk\ndescription: Answers. Use for questions.\n---\n\n# Desk\n\n"
        "- Prices are in references/prices.md.\n"
        "- Again: references/prices.md.\n- For hours read references/hours.md.\n- Be kind.\n"
    )
    (folder / "references" / "prices.md").write_text("# Prices\n\nA cup costs two euros.\n")
    (folder / "references" / "hours.md").write_text("# Hours\n\nOpen at nine. Holidays: references/holidays.md.\n")
    (folder / "references" / "holidays.md").write_text("# Holidays\n\nClosed on Sundays.\n")
    return sv.compile(folder).compiled


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_set_leaves_a_file_that_nothing_leads_to(data, tmp_path_factory):
    skill = write_skill_with_files(tmp_path_factory.mktemp("desk"))
    kept = data.draw(st.sets(st.sampled_from(skill.execution), max_size=2))
    groups = closures(skill, kept)
    order = data.draw(st.permutations(skill.execution))
    for removed in candidate_sets([order], groups):
        for other in (removed, *neighbours(removed, groups)):
            assert skill.unreached_without(other) <= other
            assert skill.reverse_closure(other) == other
            assert not other & kept


def test_of_two_lines_that_lead_to_a_file_one_may_go_alone(tmp_path):
    skill = write_skill_with_files(tmp_path)
    first, again = [unit.id for unit in skill.units if unit.id in skill.leading][:2]
    prices = next(unit.id for unit in skill.units if unit.file.endswith("prices.md"))
    assert closures(skill)[again] == {again}
    assert closures(skill)[first] == {first, again, prices}
