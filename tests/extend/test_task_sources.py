"""A benchmark of another package: a task source that is planned, run and confirmed with `skillsv.extend` alone."""

import json
from functools import partial

import anyio
import pytest

import skillsv as sv
from skillsv.extend.runs import (
    ConfirmJob,
    RunOverrides,
    Stop,
    ValuationJob,
    plan_job,
    prepare_confirmation,
    run_confirmation,
    run_plan,
)
from skillsv.extend.settings import settings_from
from skillsv.extend.task_sources import TaskSource

WORDS = ("red", "green", "blue")


class Reader:
    """An agent that repeats the skill."""

    fingerprint = "a reader"

    async def run(self, skill, task, replicate, workspace):
        return sv.Outcome(answer=skill.text if skill else "")


class Finder:
    """A verifier that looks for the word of a task in the answer."""

    async def score(self, task, outcome, workspace):
        return float(task.input in outcome.answer)


def load_words(path, grading):
    return [sv.Task(id=f"t{n}", input=WORDS[n % 3], digest=f"{n}", verifier="finder") for n in range(24)]


SOURCE = TaskSource(
    name="words",
    load_tasks=load_words,
    make_agent=lambda spec, options: Reader(),
    make_verifier=lambda path, tasks, grading: Finder(),
)


@pytest.fixture
def run(tmp_path):
    skill = tmp_path / "colours.md"
    skill.write_text("# Colours\n\n- red\n- green\n- a remark\n")
    settings = settings_from({"max_rollouts": 300, "panel_a": 12, "panel_b": 12})
    job = ValuationJob(
        skill=skill, tasks=tmp_path, agent="reader", settings=settings, folder=tmp_path, task_source=SOURCE
    )
    return anyio.run(run_plan, plan_job(job, run_dir=tmp_path / "run"), lambda event: None, Stop())


def confirm(run, skill, *, keep):
    job = ConfirmJob(run=run.folder, overrides=RunOverrides(task_source=SOURCE), skill=sv.compile(skill).compiled)
    work = partial(run_confirmation, keep=keep)
    return anyio.run(work, prepare_confirmation(job), lambda event: None, Stop())


def share_of_green(run, panel):
    """The true value of the unit that says green: the share of its tasks in the panel."""
    green = [name for name in run.stored.manifest[panel] if WORDS[int(name.removeprefix("t")) % 3] == "green"]
    return len(green) / 12


def test_a_task_source_is_valued(run):
    assert run.complete
    assert run.valuation["colours/bullet-2"].net.value == pytest.approx(share_of_green(run, "panel_a"))
    assert run.stored.manifest["about"]["kit"] == "words"
    assert (run.inputs.agent, run.inputs.path) == ("reader", run.folder.parent)


def test_a_proof_is_kept_only_where_it_is_asked_for(run):
    kept = confirm(run, "# Colours\n\n- red\n- green\n", keep=True)
    assert kept.change.value == 0
    file = run.folder / "confirmation.json"
    before = file.read_bytes()
    assert json.loads(before)["delta"]["value"] == 0
    other = confirm(run, "# Colours\n\n- red\n", keep=False)
    assert other.change.value == pytest.approx(-share_of_green(run, "panel_b"))
    assert file.read_bytes() == before
