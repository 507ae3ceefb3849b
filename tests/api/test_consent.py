"""Agreement to what a run spends: functions of the caller need none, models and programs that a text names do."""

import json
import sys

import pytest

import skillsv as sv
from skillsv.errors import SettingsError

REFUSED = r"nobody agreed to this cost\. Forecast: .* rollouts"


@pytest.fixture
def program(tmp_path):
    """The specification of a command, and the file where it notes that it ran."""
    file, log = tmp_path / "program.py", tmp_path / "ran.txt"
    file.write_text(f"open({str(log)!r}, 'a').write('x')\nprint('yes')\n")
    return f"command:{sys.executable} {file}", log


def test_an_agent_that_a_text_names_needs_a_limit_or_yes(skill, tasks, program):
    spec, log = program
    with pytest.raises(SettingsError, match=REFUSED):
        sv.value(skill, tasks=tasks, agent=spec)
    assert not log.exists()
    spent = sv.value(skill, tasks=tasks[:4], agent=spec, max_rollouts=8, keep_going=True).valuation.rollouts.spent
    assert 0 < spent <= 8
    assert log.read_text() == "x" * spent


@pytest.mark.heavy
def test_functions_of_the_caller_need_none(skill, tasks, answer):
    run = sv.value(skill, tasks=tasks, agent=answer, panel_b=0.5)
    assert run.complete
    assert sv.confirm(run, sv.prune(run, max_drop=0), max_drop=30).met


def test_an_evaluating_function_needs_none(skill):
    run = sv.value(skill, evaluate=lambda text, word: float(word in text), examples=["red", "green"] * 6)
    assert run.complete


@pytest.mark.parametrize("verifier", ["program", "judge"])
def test_a_judge_or_a_program_that_grades_needs_consent(skill, tasks, answer, program, verifier):
    spec, log = program
    settings = {"verifier": spec} if verifier == "program" else {"verifier": "judge", "judge": spec}
    with pytest.raises(SettingsError, match=REFUSED):
        sv.value(skill, tasks=tasks, agent=answer, **settings)
    assert not log.exists()


def test_a_function_that_grades_needs_none(skill, tasks, answer):
    run = sv.value(skill, tasks=tasks, agent=answer, verifier=lambda task, answer: float(answer == "yes"))
    assert run.complete


def test_the_limit_of_a_run_does_not_agree_to_its_proof(skill, tasks, program, tmp_path):
    spec, log = program
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n".join(map(json.dumps, tasks[:4])))
    run = sv.value(skill, tasks=file, agent=spec, run_dir=tmp_path / "run", max_rollouts=10, keep_going=True)
    paid = log.read_text()
    for later in (run, sv.load_run(tmp_path / "run")):
        with pytest.raises(SettingsError, match=REFUSED):
            sv.confirm(later, "# Colours\n\n- red\n")
    assert log.read_text() == paid


def test_the_curve_of_a_judge_needs_consent(skill, tasks, answer, program, tmp_path):
    spec, log = program
    run = sv.value(skill, tasks=tasks, agent=answer, judge=spec, panel_b=0.5)
    with pytest.raises(SettingsError, match=REFUSED):
        sv.confirm(run, sv.prune(run, max_drop=0), curves=["judge"])
    assert not log.exists()
