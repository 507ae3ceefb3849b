"""The report and matrix pages of runs, also of those that have no values."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import skillsv as sv

from .conftest import HOSTILE, SKILL, colours, tasks_of
from .test_guard import ask, first_event


def broken(skill, task):
    raise RuntimeError(HOSTILE)


@pytest.fixture(scope="module")
def matrix_folder(tmp_path_factory):
    """The runs of a matrix of two agents, one of which always fails."""
    folder = tmp_path_factory.mktemp("matrix")
    skill = folder / "skills" / "several" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL.format(name="several"), encoding="utf-8")

    def work():
        return sv.matrix(
            skill.parent, tasks=tasks_of(), agents={"good": colours, "broken": broken}, max_rollouts=300, panel_b=0,
            run_dir=folder / "runs" / "several",
        )  # fmt: skip

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    return folder / "runs"


@pytest.fixture
def runs(matrix_folder, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(matrix_folder, tmp_path / "runs")


def run_of(served, agent):
    return next(run["id"] for run in first_event(served)["runs"] if f"/{agent}-" in run["path"])


def test_the_matrix_page_opens_from_an_agent_that_failed(runs, serve):
    served = serve(runs)
    answer = ask(served, f"run/{run_of(served, 'broken')}/matrix")
    assert answer.status == 200
    assert 'class="heat"' in answer.text
    assert HOSTILE not in answer.text
    assert answer.headers["content-type"].startswith("text/html")


def test_the_matrix_page_takes_the_skill_from_another_agent(runs, serve):
    served = serve(runs)
    run = run_of(served, "broken")
    shutil.rmtree(next(runs.glob("several/matrix-runs/broken-*/skill")))
    assert ask(served, f"run/{run}/matrix").status == 200


def test_a_matrix_page_without_any_copy_of_the_skill_is_refused_in_words(runs, serve):
    served = serve(runs)
    run = run_of(served, "broken")
    for copy in runs.glob("several/matrix-runs/*/skill"):
        shutil.rmtree(copy)
    answer = ask(served, f"run/{run}/matrix")
    assert answer.status == 409
    assert "the skill that this matrix valued is not in the folders" in answer.text


@pytest.mark.parametrize("page", ["report", "matrix"])
def test_a_page_that_cannot_be_shown_is_html_without_scripts(runs, serve, page):
    served = serve(runs)
    run = run_of(served, "broken")
    (runs / "several" / "matrix.json").unlink()
    answer = ask(served, f"run/{run}/{page}")
    assert answer.status == 409
    assert answer.headers["content-type"].startswith("text/html")
    rules = answer.headers["content-security-policy"]
    assert rules.startswith("sandbox")
    assert "default-src 'none'" in rules
    assert "<script" not in answer.text
    assert "This page cannot be shown" in answer.text
    assert HOSTILE not in answer.text
    assert "&lt;img src=x" in answer.text, "the notes say what ended the run"


def test_the_report_of_an_agent_names_the_command_of_the_matrix(runs, serve):
    served = serve(runs)
    answer = ask(served, f"run/{run_of(served, 'broken')}/report")
    assert "skillsv matrix" in answer.text
    assert "skillsv value" not in answer.text


def test_the_page_of_a_run_that_is_gone_is_html(runs, serve):
    answer = ask(serve(runs), "run/nothing/report")
    assert answer.status == 409
    assert "this run is not here any more" in answer.text
    assert answer.text.startswith("<!doctype html>")
