"""Scores of whole versions of a skill through the ledger of a run."""

from functools import partial

import anyio
import pytest

import skillsv as sv
from skillsv.api.inputs import Inputs
from skillsv.model.events import RolloutFinished
from skillsv.pipeline import RunOverrides, score_renderings
from skillsv.pipeline.run import reopen

COLOURS = ("red", "green", "blue")
TEXT = "# Colours\n\n- red\n- green\n"


def answer(skill, task):
    return "yes" if skill and task.input in skill.text else "no"


@pytest.fixture
def reopened(tmp_path):
    tasks = [{"id": f"t{index}", "input": COLOURS[index % 3], "target": "yes"} for index in range(12)]
    inputs = Inputs(tasks=tasks, agent=answer)
    sv.value(TEXT, tasks=tasks, agent=answer, run_dir=tmp_path / "run", max_rollouts=100, panel_b=0)
    return reopen(tmp_path / "run", RunOverrides(task_source=inputs.source()))


def score(reopened, versions, tasks):
    events = []
    work = partial(score_renderings, purpose="a study")
    scores = anyio.run(work, versions, tasks, reopened, reopened.folder, events.append, None)
    return scores, [event.reused for event in events if isinstance(event, RolloutFinished)]


def test_each_version_is_scored_on_each_task_in_order(reopened):
    versions = {"both": sv.render(TEXT, keep="all"), "green": sv.render("# Colours\n\n- green\n", keep="all")}
    tasks = list(reopened.tasks.values())[:3]
    assert [task.input for task in tasks] == list(COLOURS)
    scores, _ = score(reopened, versions, tasks)
    assert scores == {"both": [1.0, 1.0, 0.0], "green": [0.0, 1.0, 0.0]}


def test_the_ledger_keeps_the_scores_apart_from_the_valuation(reopened):
    spent = reopened.run.valuation.rollouts.spent
    versions = {"green": sv.render("# Colours\n\n- only green\n", keep="all")}
    tasks = list(reopened.tasks.values())
    first, reused = score(reopened, versions, tasks)
    assert not any(reused)
    again, reused = score(reopened, versions, tasks)
    assert again == first
    assert all(reused)
    assert sv.load_run(reopened.folder.path).valuation.rollouts.spent == spent
