"""`prune` and `confirm` by objects."""

import subprocess

import pytest

import skillsv as sv
from skillsv.errors import GateNotMet, OutputError, RecordsError, SettingsError


@pytest.fixture
def run(skill, tasks, answer, tmp_path):
    return sv.value(skill, tasks=tasks * 1, agent=answer, run_dir=tmp_path / "run", max_rollouts=300, panel_b=0.5)


def test_prune_by_a_goal_and_write(run, tmp_path):
    short = sv.prune(run, max_drop=0)
    assert short.text == run.skill.text.replace("- a remark\n", "")
    assert short.tokens_after < short.tokens_before
    assert short.predicted_loss == 0
    assert (short.write(tmp_path / "short") / "SKILL.md").read_text() == short.text
    with pytest.raises(OutputError):
        short.write(tmp_path / "short")


def test_the_patch_applies(run, tmp_path):
    short = sv.prune(run, max_drop=0)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "SKILL.md").write_text(run.skill.text)
    subprocess.run(["git", "apply", "-"], input=short.patch, text=True, cwd=tmp_path / "work", check=True)
    assert (tmp_path / "work" / "SKILL.md").read_text() == short.text


def test_confirm_a_shorter_skill_and_a_worse_one(run):
    proof = sv.confirm(run, sv.prune(run, max_drop=0), max_drop=25, max_rollouts=200)
    assert proof.met
    assert proof.change.value == 0
    proof.require()
    worse = sv.confirm(run, "# Colours\n\n- green\n", max_drop=25, max_rollouts=200)
    assert not worse.met
    assert worse.change.value < -0.25
    with pytest.raises(GateNotMet):
        worse.require()
    assert "change" in str(worse)


def test_a_later_program_passes_its_objects_again(run, tasks, answer, tmp_path):
    with pytest.raises(RecordsError, match="objects of a Python program"):
        sv.confirm(sv.load_run(tmp_path / "run"), yes=True)
    loaded = sv.load_run(tmp_path / "run", tasks=tasks, agent=answer)
    assert sv.confirm(loaded, sv.prune(loaded, max_drop=0), max_drop=30, yes=True).met


def test_tasks_of_a_generator_are_there_for_the_proof(skill, tasks, answer):
    run = sv.value(skill, tasks=(task for task in tasks), agent=answer, panel_b=0.5)
    assert sv.confirm(run, sv.prune(run, max_drop=0), max_drop=30).met


def test_a_goal_and_a_verdict_contradict(run):
    with pytest.raises(SettingsError, match="two things at once"):
        sv.prune(run, max_drop=1, only="delete")
