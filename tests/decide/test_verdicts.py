"""Verdicts: one action per unit, for the reason the evidence gives."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillsv.decide import verdicts
from skillsv.model.skill import Block, CompiledSkill, Edge, Extent, Leaf, Lines, Section, Skill, Span, Unit, UnitKind
from skillsv.model.value import UNKNOWN, Action, Anchors, Closure, Estimate, Evidence, Interval, UnitValue

NOTHING = Interval(0.0, 0.0, 0.0)


def skill(*names, needs=()):
    ids = ("m", *names)
    units = tuple(
        Unit(
            id=unit,
            kind=UnitKind.ITEM,
            form="bullet",
            extents=(Extent(file="SKILL.md", span=Span(place, place + 1), lines=Lines(place, place)),),
        )
        for place, unit in enumerate(ids)
    )
    edges = [Edge(rule="R6", source=unit, target="m", evidence="") for unit in names]
    edges += [Edge(rule="R1", source=source, target=target, evidence="") for source, target in needs]
    return CompiledSkill(
        skill=Skill(name="s", root=Path("s"), main="SKILL.md", files=()),
        options={},
        trigger="m",
        units=units,
        edges=tuple(edges),
        hierarchy=Block("root", tuple(Leaf(unit) for unit in ids)),
        sections=(Section(title="", path=(), file=None, level=0, parent=None),),
        layouts=(),
    )


def estimate(*units, resolution=0.01):
    return Estimate(
        method="chain",
        anchors=Anchors(empty=NOTHING, trigger=NOTHING, full=NOTHING),
        trigger_value=NOTHING,
        content_lift=NOTHING,
        closure=Closure(sum=NOTHING, lift=NOTHING, ratio=None, covered=True),
        units=units,
        sections=(),
        chains=12,
        truncation_share=None,
        resolution=resolution,
    )


def value(name, low, high, evidence, *, content=None, cost=None, samples=12):
    return UnitValue(
        id=name,
        net=Interval((low + high) / 2, low, high),
        content=None if content is None else Interval(sum(content) / 2, *content),
        cost=None if cost is None else Interval(sum(cost) / 2, *cost),
        samples=samples,
        evidence=evidence,
    )


def only(unit, **options):
    (verdict,) = verdicts(skill("a"), estimate(unit, **options), {"a": 17})
    assert verdict.reason.endswith(".")
    assert "17 tokens" in verdict.reason
    return verdict


@pytest.mark.parametrize(
    ("low", "high", "evidence", "action", "words"),
    [
        (0.1, 0.3, Evidence.POSITIVE, Action.KEEP, "It helps: net effect +20.0 [+10.0, +30.0] points"),
        (-0.3, -0.1, Evidence.NEGATIVE, Action.HARMFUL, "It hurts"),
        (-0.005, 0.005, Evidence.NEGLIGIBLE, Action.EXPENDABLE, "about zero, within ±1 points"),
        (-0.2, 0.3, Evidence.UNRESOLVED, Action.UNRESOLVED, "Too uncertain"),
        (-0.2, 0.0, Evidence.UNRESOLVED, Action.EXPENDABLE, "Not positive"),
        (-0.2, 0.009, Evidence.EXPENDABLE, Action.EXPENDABLE, "Worth less than 1 points"),
        (0.0, 0.0, Evidence.IDLE, Action.IDLE, "No effect on your tasks; on new ones it may have one"),
        (0.0, 0.0, Evidence.IDENTICAL, Action.DELETE, "the same bytes"),
    ],
)
def test_the_evidence_of_one_operator_decides_the_action(low, high, evidence, action, words):
    verdict = only(value("a", low, high, evidence))
    assert verdict.action is action
    assert words in verdict.reason


def test_the_reason_says_when_only_deletion_was_run():
    alone = value("a", 0.1, 0.3, Evidence.POSITIVE)
    both = value("a", 0.1, 0.3, Evidence.POSITIVE, content=(0.1, 0.3), cost=(-0.1, 0.1))
    assert "by deletion alone" in only(alone).reason
    assert "by deletion alone" not in only(both).reason


@pytest.mark.parametrize("evidence", [Evidence.POSITIVE, Evidence.UNRESOLVED, Evidence.NEGLIGIBLE, Evidence.NEGATIVE])
def test_content_of_value_with_a_cost_is_compressed_whatever_the_net(evidence):
    verdict = only(value("a", -0.01, 0.1, evidence, content=(0.1, 0.3), cost=(0.05, 0.15)))
    assert verdict.action is Action.COMPRESS
    assert "its length costs +10.0" in verdict.reason


@pytest.mark.parametrize(("content", "cost"), [((-0.1, 0.3), (0.05, 0.15)), ((0.1, 0.3), (-0.05, 0.15))])
def test_compress_needs_both_content_and_cost_above_zero(content, cost):
    assert only(value("a", 0.05, 0.1, Evidence.POSITIVE, content=content, cost=cost)).action is Action.KEEP


def test_effects_below_the_resolution_are_not_compressed():
    faint = value("a", 0.05, 0.1, Evidence.POSITIVE, content=(0.001, 0.3), cost=(0.001, 0.005))
    assert only(faint).action is Action.KEEP


def test_a_unit_that_was_never_tested_is_unresolved():
    verdict = only(UnitValue(id="a", net=UNKNOWN, samples=0))
    assert verdict.action is Action.UNRESOLVED
    assert verdict.reason.startswith("Too early: no rollout has told its effect apart")


def two(lead, item):
    compiled = skill("lead", "item", needs=[("item", "lead")])
    return {verdict.unit: verdict for verdict in verdicts(compiled, estimate(lead, item), {"lead": 5, "item": 9})}


def test_a_unit_of_no_value_stays_if_a_useful_unit_needs_it():
    decided = two(value("lead", -0.005, 0.005, Evidence.NEGLIGIBLE), value("item", 0.1, 0.2, Evidence.POSITIVE))
    assert decided["lead"].action is Action.KEEP
    assert "item needs it" in decided["lead"].reason


def test_a_unit_of_no_value_is_unresolved_if_its_dependant_is():
    decided = two(value("lead", -0.005, 0.005, Evidence.NEGLIGIBLE), value("item", -0.1, 0.2, Evidence.UNRESOLVED))
    assert decided["lead"].action is Action.UNRESOLVED


def test_a_unit_of_no_value_goes_with_dependants_of_no_value():
    decided = two(value("lead", -0.005, 0.005, Evidence.NEGLIGIBLE), value("item", -0.3, -0.2, Evidence.NEGATIVE))
    assert decided["lead"].action is Action.EXPENDABLE
    assert "item needs it and would go with it" in decided["lead"].reason


def test_a_unit_without_a_value_is_unresolved():
    verdict = only(UnitValue(id="a", net=Interval(float("nan"), -0.9, 1.0), samples=3))
    assert verdict.action is Action.UNRESOLVED
    assert verdict.reason.startswith("Too early: no rollout has told its effect apart")


def test_an_idle_unit_says_what_no_change_on_so_many_tasks_leaves_open():
    verdict = only(replace(value("a", 0.0, 0.0, Evidence.IDLE), tasks=20))
    assert verdict.reason == ("No effect on your 20 tasks; on new ones it may be worth up to 13.9 points (17 tokens).")


def test_the_reason_shows_the_interval_on_the_panel():
    unit = replace(value("a", -0.1, 0.5, Evidence.POSITIVE), net_panel=Interval(0.2, 0.1, 0.3))
    assert "+20.0 [+10.0, +30.0] points on these tasks" in only(unit).reason


def test_an_expendable_unit_stays_with_a_dependant_that_stays():
    kept = two(value("lead", -0.2, 0.009, Evidence.EXPENDABLE), value("item", 0.1, 0.3, Evidence.POSITIVE))
    assert kept["lead"].action is Action.KEEP
