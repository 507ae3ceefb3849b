"""The words of the first screen and of "What next", by the state of the run."""

from dataclasses import replace
from html import unescape

import pytest

from skillsv.model.edit import Confirmation, PruneStep
from skillsv.model.format import points
from skillsv.model.skill import Lines
from skillsv.model.value import Action, Interval, Verdict
from skillsv.report import page
from skillsv.report.edits import ShorterSkill
from skillsv.report.headline import headline, numbers_sentence
from skillsv.report.line_names import LineNames
from skillsv.report.next_steps import next_steps, with_budget
from skillsv.report.run_facts import RunFacts
from skillsv.report.sentences import execution_units

FACTS = RunFacts(folder="RUN", value_command="skillsv value S --tasks T --agent A --max-rollouts 100 --seed 3")


def proof(*, delta=0.1, at_worst=0.01):
    return Confirmation(
        tasks=72, old=Interval(0.8, 0.7, 0.9), new=Interval(0.8 + delta, 0.7, 0.99), tokens_old=200, tokens_new=180,
        delta=Interval(delta, delta - 0.05, delta + 0.05), at_worst=at_worst, max_drop=0.05,
    )  # fmt: skip


@pytest.fixture
def shorter(case):
    unit = execution_units(case.valuation)[3]
    step = PruneStep(unit=unit.id, removed=(unit.id,), kept=frozenset(), tokens_left=180, share_removed=0.1,
                     lost_value=-0.05)  # fmt: skip
    return ShorterSkill(before={"SKILL.md": b"a\nb\n"}, after={"SKILL.md": b"a\n"}, main="SKILL.md", steps=(step,),
                        tokens_before=200, tokens_after=180, full_score=0.8, confirmed=True)  # fmt: skip


def steps_of(valuation, shorter=None, confirmation=None):
    return next_steps(valuation, shorter, confirmation, FACTS, LineNames(execution_units(valuation)))


def with_actions(valuation, action):
    units = tuple(replace(unit, verdict=Verdict(unit=unit.id, action=action, reason="so")) for unit in valuation.units)
    return replace(valuation, units=units)


def test_a_confirmed_version_is_applied(case, shorter):
    assert headline(case.valuation, shorter, proof()) == (
        "Delete 1 line: 10% shorter, +10.0 points on 72 unseen tasks, confirmed"
    )
    assert steps_of(case.valuation, shorter, proof())[0].command == "skillsv prune RUN --in-place"


def test_units_of_several_lines_are_counted_with_their_lines(case, shorter):
    unit = execution_units(case.valuation)[3]
    long = replace(unit, lines=Lines(unit.lines.first, unit.lines.first + 4))
    units = tuple(long if other.id == unit.id else other for other in case.valuation.units)
    words = headline(replace(case.valuation, units=units), shorter, proof())
    assert words.startswith("Delete 1 unit (5 lines): 10% shorter")


def test_the_numbers_of_one_deletion_are_told_apart(case, shorter):
    net = points(execution_units(case.valuation)[3].value.net.value)
    proved = numbers_sentence(case.valuation, shorter, proof())
    assert proved.startswith(f"The net effects of what is deleted sum to {net} points.")
    assert "valued tasks by +5.0, and on unseen tasks they changed it by +10.0." in proved
    open_sentence = numbers_sentence(case.valuation, replace(shorter, confirmed=False), proof())
    assert "valued tasks by +5.0." in open_sentence
    assert "unseen" not in open_sentence
    assert numbers_sentence(case.valuation, None, None) == ""
    assert proved in unescape(page(case.valuation, case.compiled, (), shorter=shorter, confirmation=proof()))


def test_a_proof_of_another_version_confirms_nothing(case, shorter):
    other = replace(shorter, confirmed=False)
    assert headline(case.valuation, other, proof()) == (
        "Delete 1 line: 10% shorter, +5.0 points expected, not yet checked on unseen tasks"
    )
    assert steps_of(case.valuation, other, proof())[0].command == "skillsv confirm RUN"


def test_a_worse_version_is_not_proposed(case, shorter):
    worse = proof(delta=-0.2, at_worst=-0.3)
    assert headline(case.valuation, shorter, worse).startswith("Do not delete 1 line: −20.0 points on 72 unseen tasks")
    assert steps_of(case.valuation, shorter, worse)[0].command == ""


def test_what_is_not_shown_is_not_called_confirmed(case, shorter):
    open_proof = proof(delta=0.0, at_worst=-0.2)
    assert headline(case.valuation, shorter, open_proof).endswith("not confirmed")
    assert "--replicates" in steps_of(case.valuation, shorter, open_proof)[0].command


def test_undecided_lines_name_the_command_and_its_rollouts(case):
    open_valuation = with_actions(case.valuation, Action.UNRESOLVED)
    assert headline(open_valuation, None, None) == "No verdict yet: no line is measured precisely enough"
    (step,) = steps_of(open_valuation)
    assert step.sentence.startswith("All lines are undecided. Twice as many rollouts (2,614 more rollouts)")
    assert step.command == "skillsv value S --tasks T --agent A --seed 3 --max-rollouts 5228"


def test_an_interrupted_run_is_continued(early):
    assert headline(early, None, None) == "No verdict yet: the run has measured too little"
    assert steps_of(early)[0].command.endswith("--max-rollouts 582")


def test_a_skill_without_faults_is_kept(case):
    kept = with_actions(case.valuation, Action.KEEP)
    assert headline(kept, None, None).startswith("Keep every line")
    assert steps_of(kept)[0].sentence.startswith("Nothing to do")


def test_a_line_to_shorten_is_named(case):
    assert headline(with_actions(case.valuation, Action.COMPRESS), None, None).startswith("Say 17 lines in fewer words")


def test_a_budget_replaces_the_one_of_the_command():
    assert with_budget("skillsv value S", 50) == "skillsv value S --max-rollouts 50"
    assert with_budget("skillsv value S --max-rollouts 9", 50) == "skillsv value S --max-rollouts 50"
