"""The skill that teaches coding agents to use skillsv: without findings, true to the parser, and valued by skillsv itself."""

import re
from pathlib import Path

import pytest

import skillsv as sv
from skillsv.cli.app import COMMAND_NAMES, build_app
from skillsv.model.value import Action

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "skillsv"
TASKS = Path(__file__).with_name("tasks.csv")

COMMAND = re.compile(r"`skillsv ([a-z]+)([^`]*)`")


QUESTION_WORDS = {"which", "what", "command"}
"""Words of a question that say nothing about its topic."""


def words(text):
    return {word for word in re.split(r"[^a-z]+", text.lower()) if len(word) > 3} - QUESTION_WORDS


def bullets(text):
    """The bullets of a skill, each on one line."""
    return [" ".join(found.split()) for found in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]


def answer(skill, task):
    """The bullet that shares most words with the question. It knows nothing but the text of the skill."""
    asked = words(task.input)
    shared = {line: len(asked & words(line)) for line in bullets(skill.text if skill else "")}
    best = max(shared, key=shared.__getitem__, default="")
    return best if shared.get(best) else "I do not know."


def test_it_has_no_findings():
    assert sv.lint(SKILL, every=True) == ()


def test_it_is_short():
    assert sv.compile(SKILL).count_tokens() < 1000


def test_commands_and_flags_are_those_of_the_parser():
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    used = COMMAND.findall(text)
    assert {name for name, _ in used} <= set(COMMAND_NAMES)
    assert len(used) >= 12
    for name, rest in used:
        known = {flag for argument in build_app(name)[name].assemble_argument_collection() for flag in argument.names}
        assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)) <= known, name


def test_what_spends_has_a_limit_and_deletion_a_proof():
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    for name, rest in COMMAND.findall(text):
        if name in {"value", "shrink", "trigger"}:
            assert "--max-rollouts" in rest
        assert name != "prune" or "--in-place" not in rest
    assert "`--yes` only after the user has agreed" in " ".join(text.split())


@pytest.mark.heavy
def test_every_line_is_worth_its_place(tmp_path):
    run = sv.value(SKILL, tasks=TASKS, agent=answer, max_rollouts=2400, panel_b=0, run_dir=tmp_path / "run")
    assert run.complete
    anchors = run.valuation.anchors
    assert anchors.empty.value == 0
    assert anchors.full.value == 1
    asked = [unit for unit in run.valuation.units if unit.form == "bullet"]
    assert len(asked) == len({line.split(",")[-2] for line in TASKS.read_text("utf-8").splitlines()[1:]})
    assert {unit.id: unit.action for unit in asked if unit.action is not Action.KEEP} == {}
