"""The pruning path: which units are removed in which order, and where a goal ends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.compiler import CompileOptions, compile_files
from skillsv.decide.pruning import Goal, count_steps, find_removable, pruning_path
from skillsv.errors import SettingsError
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.model.value import Action, Verdict

TEXT = b"""\
# Words

Say these:

- Say one.
- Say two.

Say three.

- Say four.
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    file = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=TEXT, size=len(TEXT), digest="x")
    skill = Skill(name="words", root=tmp_path_factory.mktemp("words"), main="SKILL.md", files=(file,))
    return compile_files(skill, CompileOptions())


def by_words(compiled, words):
    return next(u.id for u in compiled.units if words.encode() in TEXT[u.span.start : u.span.end])


def tokens(coalition):
    return 10 * len(coalition)


def test_a_lead_in_of_no_value_stays_while_its_list_has_value(compiled):
    lead, one, two, three, four = (by_words(compiled, words) for words in ("Say these", "one", "two", "three", "four"))
    values = {lead: 0.0, one: 0.3, two: 0.1, three: -0.2, four: 0.05}
    path = pruning_path(compiled, values, tokens)
    assert [step.unit for step in path] == [three, four, two, one, lead]
    assert path[-1].kept == {compiled.trigger}
    assert path[-1].lost_value == pytest.approx(0.25)


@given(data=st.data())
def test_every_step_leaves_a_closed_coalition(compiled, data):
    values = {unit: data.draw(st.floats(-1, 1)) for unit in compiled.execution}
    path = pruning_path(compiled, values, tokens)
    kept = compiled.everything
    for step in path:
        assert step.kept == kept - set(step.removed)
        assert compiled.closure(step.kept) == step.kept
        kept = step.kept
    assert kept == {compiled.trigger}
    shares = [step.share_removed for step in path]
    assert shares == sorted(shares)


def test_a_unit_is_removed_with_all_that_needs_it(compiled):
    lead, one, two = (by_words(compiled, words) for words in ("Say these", "one", "two"))
    values = dict.fromkeys(compiled.execution, 0.1) | {lead: -0.5}
    first = pruning_path(compiled, values, tokens)[0]
    assert first.unit == lead
    assert first.removed == (lead, one, two)
    assert first.lost_value == pytest.approx(-0.3)


def test_a_goal_ends_the_path_at_the_right_step(compiled):
    values = dict.fromkeys(compiled.execution, 0.1)
    path = pruning_path(compiled, values, tokens)
    assert path[count_steps(path, Goal(to_tokens=40)) - 1].tokens_left <= 40
    assert path[count_steps(path, Goal(share=0.5)) - 1].share_removed >= 0.5
    assert count_steps(path, Goal(max_drop=0.0)) == 0
    assert count_steps(path, Goal(max_drop=0.15)) == 1


@pytest.mark.parametrize(
    "given",
    [{}, {"share": 0.2, "max_drop": 0.1}, {"share": 1.5}, {"max_drop": 2}, {"max_drop": -0.1}, {"to_tokens": -1}],
)
def test_a_goal_without_exactly_one_valid_limit_is_refused(given):
    with pytest.raises(SettingsError):
        Goal(**given)


def test_a_size_below_the_trigger_is_an_error(compiled):
    path = pruning_path(compiled, dict.fromkeys(compiled.execution, 0.1), tokens)
    with pytest.raises(SettingsError, match="cannot be made that small"):
        count_steps(path, Goal(to_tokens=3))


def path_by_computing_every_loss_again(compiled, values, partners, *, additive):
    """The units in the order of removal: at each step the losses of all units are computed anew."""
    place = {unit: index for index, unit in enumerate(compiled.execution)}
    kept, left, order = compiled.everything, set(compiled.execution), []
    while left:
        loss, gone = {}, {}
        for unit in left:
            gone[unit] = compiled.reverse_closure(frozenset({unit})) & kept
            if not compiled.leading.isdisjoint(gone[unit]):
                gone[unit] |= compiled.unreached_without(compiled.everything - kept | gone[unit]) & kept & left
            current = {
                one: values[one]
                * ((partners[one][1] if partners[one][0] in kept else partners[one][2]) if one in partners else 1)
                for one in values
            }
            loss[unit] = sum(current[one] for one in (sorted(gone[unit]) if additive else (unit,)))
        chosen = min(left, key=lambda unit: (loss[unit], -place[unit]))
        order.append((chosen, gone[chosen]))
        kept, left = kept - gone[chosen], left - gone[chosen]
    return order


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """A skill with files: one that two lines lead to, and one that leads to another."""
    texts = {
        "SKILL.md": TEXT + b"\nSee [a](references/a.md) and [b](references/b.md).\n\nSee [b](references/b.md) again.\n",
        "references/a.md": b"See [c](c.md).\n",
        "references/b.md": b"Bees.\n",
        "references/c.md": b"Seas.\n",
    }
    files = tuple(
        SkillFile(
            path=path,
            role=FileRole.MAIN if path == "SKILL.md" else FileRole.RESOURCE,
            data=data,
            size=len(data),
            digest=path,
        )
        for path, data in texts.items()
    )
    return compile_files(
        Skill(name="linked", root=tmp_path_factory.mktemp("linked"), main="SKILL.md", files=files), CompileOptions()
    )


@given(data=st.data())
def test_the_path_is_the_one_of_computing_every_loss_again(linked, data):
    units = linked.execution
    values = {unit: data.draw(st.sampled_from([-0.2, -0.1, 0.0, 0.1, 0.25])) for unit in units}
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(units), st.sampled_from(units)), max_size=3))
    partners = {one: (other, 0.0, 2.0) for one, other in pairs if one != other}
    additive = data.draw(st.booleans())
    path = pruning_path(linked, values, tokens, additive=additive, partners=partners)
    expected = path_by_computing_every_loss_again(linked, values, partners, additive=additive)
    assert [(step.unit, frozenset(step.removed)) for step in path] == expected


def test_a_unit_whose_dependant_should_stay_is_not_removable(compiled):
    lead, one, four = (by_words(compiled, words) for words in ("Say these", "one", "four"))
    actions = dict.fromkeys(compiled.execution, Action.KEEP) | {lead: Action.HARMFUL, four: Action.DELETE}
    verdicts = [Verdict(unit=unit, action=action, reason="") for unit, action in actions.items()]
    both = frozenset({Action.DELETE, Action.HARMFUL})
    assert find_removable(compiled, verdicts, both) == {four}
    assert find_removable(compiled, verdicts, frozenset({Action.HARMFUL})) == frozenset()
    assert one not in find_removable(compiled, verdicts, both)


def test_of_redundant_units_the_second_has_the_value_of_both(compiled):
    one, other, three, four = (by_words(compiled, word) for word in ("one.", "two.", "three.", "four."))
    values = dict.fromkeys(compiled.execution, 1.0) | {one: 0.3, other: 0.3, three: 0.4, four: 0.5}
    plain = [step.unit for step in pruning_path(compiled, values, tokens)]
    assert plain[:2] == [other, one]
    partners = {one: (other, 0.0, 2.0), other: (one, 0.0, 2.0)}
    aware = pruning_path(compiled, values, tokens, partners=partners)
    assert [step.unit for step in aware][:4] == [other, three, four, one]
    assert [step.lost_value for step in aware][:4] == pytest.approx([0.0, 0.4, 0.9, 1.5])


def test_of_complementary_units_the_second_follows_the_first(compiled):
    one, other, three, four = (by_words(compiled, word) for word in ("one.", "two.", "three.", "four."))
    values = dict.fromkeys(compiled.execution, 1.0) | {one: 0.3, four: 0.35, three: 0.4, other: 0.45}
    partners = {one: (other, 1.0, 0.0), other: (one, 1.0, 0.0)}
    assert [step.unit for step in pruning_path(compiled, values, tokens, partners=partners)][:2] == [one, other]


def test_a_value_that_is_not_additive_counts_alone(compiled):
    lead, one, two = (by_words(compiled, word) for word in ("Say these:", "one.", "two."))
    values = dict.fromkeys(compiled.execution, 1.0) | {lead: 0.1, one: 0.2, two: 0.2}
    first = pruning_path(compiled, values, tokens, additive=False)[0]
    assert first.unit == lead
    assert set(first.removed) == {lead, one, two}
    assert first.lost_value == pytest.approx(0.1)
