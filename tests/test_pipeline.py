"""The whole pipeline on a small skill, with an agent that logs its tasks."""

import json
from dataclasses import replace

import anyio
import pytest

from skillsv.errors import BudgetReached, RecordsError, SkillSVError, TaskError
from skillsv.estimate.chain import NO_PANEL_ANCHORS
from skillsv.pipeline import (
    ValuationJob,
    build_run,
    build_valuation,
    load_run,
    prepare,
    publish,
    read_manifest,
    run_rollouts,
)
from skillsv.pipeline.job import plan_chains, strata_of
from skillsv.rendering import Renderer
from skillsv.rollout import RunFolder, Stop, run_folder
from skillsv.rollout.chain_repeats import most_repeats
from skillsv.rollout.records import read_records
from skillsv.settings import settings_from

SKILL = """\
---
name: tiny
description: Three words to say.
---

# Words

- Say `alpha`.
- Say `beta`.
- Say nothing of `gamma`.
"""

AGENT = """\
import re
from pathlib import Path

LOG = Path(__file__).with_name("log.txt")

def answer(skill, task, replicate):
    with LOG.open("a") as log:
        log.write(f"{task.id}\\n")
    return " ".join(re.findall(r"Say `(\\w+)`", skill.text)) if skill else ""
"""


@pytest.fixture
def place(tmp_path):
    skill = tmp_path / "tiny"
    skill.mkdir()
    (skill / "SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    words = ["alpha", "beta"] * 6
    lines = [
        json.dumps({"id": f"t{n}", "input": "?", "target": word, "stratum": word, "verifier": "contains"})
        for n, word in enumerate(words)
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def job(place, **flags):
    settings = settings_from({"orders": 4, "window": 4, "panel_b": 2, "method": "chain", **flags})
    return ValuationJob(
        skill=place / "tiny",
        tasks=place / "tasks.jsonl",
        agent="python:agent.py:answer",
        settings=settings,
        folder=place,
    )


def run(place, **flags):
    prepared = prepare(job(place, **flags))
    folder = RunFolder(place / "run")
    result = anyio.run(lambda: run_rollouts(prepared, folder, lambda _event: None, Stop()))
    return prepared, folder, result


def calls(place):
    return len((place / "log.txt").read_text().splitlines())


def valuation_of(prepared, result):
    tasks = prepared.panel_a.tasks
    strata = strata_of(tasks)
    return build_valuation(prepared.compiled, prepared.job.settings, "agent", result, panel=len(tasks), strata=strata)


def test_prepare_runs_nothing_and_writes_nothing(place):
    before = sorted(place.rglob("*"))
    prepared = prepare(job(place))
    assert prepared.forecast.expected.rollouts > 0
    assert [path for path in sorted(place.rglob("*")) if "__pycache__" not in path.parts] == before


def test_values_match_the_rules_that_the_agent_follows(place):
    prepared, _, result = run(place)
    valuation = valuation_of(prepared, result)
    alpha, beta, gamma = (unit.value for unit in valuation.units)
    assert alpha.net.value == pytest.approx(0.5)
    assert beta.net.value == pytest.approx(0.5)
    assert gamma.net.value == 0
    assert valuation.estimate.closure.ratio == pytest.approx(1.0)


def test_a_chain_run_scores_its_anchors_on_every_task_of_panel_a(place):
    prepared, folder, result = run(place, orders=1, window=2)
    tasks = tuple(task.id for task in prepared.panel_a.tasks)
    assert len(tasks) > 2
    assert result.panel_anchors.tasks == tasks
    assert set(result.panel_anchors.full) == {1.0}
    assert None not in (*result.panel_anchors.empty, *result.panel_anchors.trigger)
    paid = calls(place)
    stored = load_run(folder.path)
    assert calls(place) == paid, "the estimate reads the records only"
    valuation = valuation_of(prepared, result)
    assert stored.valuation.estimate == valuation.estimate
    assert stored.valuation.estimate.closure.gap is not None


def test_loading_a_run_reads_its_records_once(place, monkeypatch):
    _, folder, _ = run(place, orders=1, window=2)
    reads = []
    monkeypatch.setattr(run_folder, "read_records", lambda path: reads.append(path) or read_records(path))
    assert load_run(folder.path).records
    assert reads == [folder.records]


def test_the_forecast_without_truncation_counts_the_anchors_on_the_panel(place):
    prepared, _, result = run(place, orders=1, window=2, tolerance="off", operators="delete")
    inner = len(prepared.compiled.execution) - 1
    panel = len(prepared.panel_a.tasks)
    chains = 2 * (inner + 3)
    without_repeats = 2 * inner + 3 * panel
    most = most_repeats(chains, 2, 1)
    assert prepared.forecast.expected.rollouts == without_repeats + most
    anchors = 2 * 2 * 2  # the noise check repeats two anchors on two tasks, twice
    assert without_repeats + anchors < result.spending.spent <= without_repeats + most


def test_a_run_of_an_earlier_version_without_anchors_opens_with_a_note_and_gets_them_when_resumed(place):
    _, folder, _ = run(place)
    lines = folder.records.read_text().splitlines(keepends=True)
    folder.records.write_text("".join(line for line in lines if "skillsv.anchors/1" not in line))
    (folder.path / "records.crc32").unlink()  # earlier versions kept no checksums
    paid = calls(place)
    earlier = load_run(folder.path).valuation.estimate
    assert earlier.closure.gap is None
    assert NO_PANEL_ANCHORS in earlier.notes
    run(place)
    assert calls(place) == paid
    assert load_run(folder.path).valuation.estimate.closure.gap is not None


def test_the_same_command_again_runs_no_rollout(place):
    _, _, first = run(place)
    paid = calls(place)
    _, _, second = run(place)
    assert calls(place) == paid
    assert second.spending.spent == 0
    assert second.records == first.records


def test_more_orders_leave_the_first_orders_unchanged(place):
    few = prepare(job(place, orders=3)).plans
    many = prepare(job(place, orders=6)).plans
    assert many[:3] == few


def test_after_an_edit_only_changed_renderings_are_run(place):
    run(place, tolerance="off")
    paid = calls(place)
    skill = place / "tiny" / "SKILL.md"
    skill.write_text(skill.read_text().replace("nothing of", "not a word of"))
    prepared, _, result = run(place, tolerance="off")
    assert 0 < result.spending.spent < paid
    assert result.spending.reused > 0
    trees = {step.tree for record in result.records for step in record.steps}
    assert len(trees) > 1
    assert calls(place) == paid + result.spending.spent
    assert prepared.compiled.digest


def test_a_reached_budget_is_reported_and_not_exceeded(place):
    _, _, result = run(place, max_rollouts=30)
    assert isinstance(result.error, BudgetReached)
    assert calls(place) <= 30


def test_a_run_is_loaded_without_its_skill_tasks_and_agent(place):
    prepared, folder, result = run(place)
    built = build_run(prepared.renderer, prepared.job.settings, read_manifest(folder), result)
    page = publish(folder, built)
    for name in ("tiny/SKILL.md", "tasks.jsonl", "agent.py"):
        (place / name).unlink()
    loaded = load_run(folder.path)
    assert loaded.valuation.estimate.units == built.valuation.estimate.units
    assert loaded.compiled.digest == prepared.compiled.digest
    assert "<html" in page.read_text()
    assert json.loads(folder.valuation.read_text())["schema"] == "skillsv.valuation/1"


def test_a_folder_without_a_run_is_an_error(tmp_path):
    with pytest.raises(RecordsError, match="no run"):
        load_run(tmp_path)


def test_a_broken_task_line_is_an_error_with_its_place(place):
    (place / "tasks.jsonl").write_text('{"id": "a", "input": "?"}\n{"id": \n')
    with pytest.raises(TaskError, match=r"tasks\.jsonl:2"):
        prepare(job(place))


def test_another_seed_draws_other_windows(place):
    prepared = prepare(job(place))
    other = plan_chains(prepared.compiled, prepared.panel_a, settings_from({"seed": 1, "window": 4}))
    assert {plan.window.tasks for plan in other} != {plan.window.tasks for plan in prepared.plans}


def test_an_adaptive_run_resumes_without_rollouts_and_equal_values(place):
    _, _, first = run(place, method="auto", max_rollouts=60)
    paid = calls(place)
    assert paid <= 60
    prepared, folder, second = run(place, method="auto", max_rollouts=60)
    assert calls(place) == paid
    assert second.observations == first.observations
    valuation = valuation_of(prepared, second)
    assert load_run(folder.path).valuation.estimate == valuation.estimate


def test_an_adaptive_run_continues_where_a_smaller_budget_ended(place):
    _, _, first = run(place, method="auto", max_rollouts=40)
    paid = calls(place)
    _, _, second = run(place, method="auto", max_rollouts=70)
    assert second.observations[: len(first.observations)] == first.observations
    assert second.spending.spent == calls(place) - paid
    assert calls(place) <= 70


def test_a_window_larger_than_the_panel_is_refused_only_for_chains(place):
    assert prepare(job(place, method="auto", window=50)).first_window
    with pytest.raises(TaskError, match="does not fit"):
        prepare(job(place, method="chain", window=50))


def test_a_budget_below_the_least_gives_a_partial_adaptive_result(place):
    _, _, result = run(place, method="auto", max_rollouts=40)
    assert isinstance(result.error, BudgetReached)
    assert result.observations


def test_the_forecast_of_a_small_skill_counts_all_its_coalitions(place):
    prepared = prepare(job(place, method="auto", panel_b=0))
    _, _, result = run(place, method="auto", panel_b=0)
    assert result.spending.spent <= prepared.forecast.expected.rollouts < 1000
    assert result.error is None


NOISE = """\
    import random
    if random.Random(f"{task.id} {replicate} {skill.text if skill else None}").random() < 0.3:
        return "alpha beta"
    return """


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("operators", ["delete", "delete,pad"])
@pytest.mark.parametrize(("window", "orders"), [(1, 1), (1, 3), (4, 5), (10, 1), (10, 3)])
def test_the_checks_never_lead_beyond_the_high_forecast(place, noisy, operators, window, orders):
    if noisy:
        (place / "agent.py").write_text(AGENT.replace("    return ", NOISE))
    prepared, _, result = run(place, window=window, orders=orders, operators=operators, tolerance="off")
    assert result.error is None
    assert 0 < result.spending.spent <= prepared.forecast.high.rollouts


@pytest.mark.parametrize("method", ["chain", "auto"])
def test_tasks_without_answers_are_in_a_note_and_never_zero(place, method):
    agent = (place / "agent.py").read_text()
    broken = 'def answer(skill, task, replicate):\n    if task.id == "t3":\n        raise OSError("the line is down")\n'
    (place / "agent.py").write_text(agent.replace("def answer(skill, task, replicate):\n", broken))
    flags = {"method": method, "panel_b": 0, "window": 12, "orders": 2, "attempts": 1, "max_missing": 0.5}
    prepared, _, result = run(place, **flags)
    valuation = valuation_of(prepared, result)
    assert any("Tasks: t3." in note for note in valuation.notes)
    assert valuation.estimate.anchors.full.value == 1.0


def test_a_failing_verifier_does_not_run_the_agent_again(place):
    verifier = "calls = []\n\ndef shaky(task, answer):\n    calls.append(1)\n    if len(calls) % 3:\n        raise OSError\n    return 1.0\n"
    (place / "shaky.py").write_text(verifier)
    lines = (place / "tasks.jsonl").read_text().replace('"contains"', '"python:shaky.py:shaky"')
    (place / "tasks.jsonl").write_text(lines)
    _, _, result = run(place, orders=2, jobs=1)
    assert result.spending.failed == 0
    assert calls(place) == result.spending.spent


@pytest.mark.parametrize("method", ["chain", "auto"])
def test_operators_that_render_the_full_skill_differently_end_a_run_before_spending(place, monkeypatch, method):
    render = Renderer.render

    def render_with_a_bug(self, coalition, operator):
        rendering = render(self, coalition, operator)
        return replace(rendering, digest=f"{rendering.digest}{operator}")

    monkeypatch.setattr(Renderer, "render", render_with_a_bug)
    with pytest.raises(SkillSVError, match="to different bytes"):
        run(place, method=method)
    assert not (place / "log.txt").exists()


def test_an_adaptive_run_stores_how_both_operators_render_the_full_skill(place):
    prepared, _, result = run(place, method="auto", max_rollouts=60)
    digests = valuation_of(prepared, result).full_digests
    assert set(digests) == {"delete", "pad"}
    assert len(set(digests.values())) == 1
