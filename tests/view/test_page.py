"""The live page in a real browser: live progress, reports, comparison, transcripts, hostile text, lost folders."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from playwright.sync_api import expect

import skillsv as sv
from skillsv.errors import Interrupted

from .conftest import HOSTILE, HOSTILE_TASK, SKILL, colours, make_run, tasks_of

LIVE = 20_000
"""Milliseconds that the page may take to show a change on a busy machine."""


def row_of(page, skill):
    return page.locator("#runs tbody tr", has_text=skill)


class Gate:
    """An agent whose rollouts wait until the test opens the gate, after the first ones."""

    def __init__(self, free):
        self.free, self.asked, self.lock = free, 0, threading.Lock()
        self.reached, self.open = threading.Event(), threading.Event()

    def answer(self, skill, task):
        with self.lock:
            self.asked += 1
            waits = self.asked > self.free
        if waits:
            self.reached.set()
            self.open.wait(60)
        return colours(skill, task)


def start_gated(folder, gate):
    result = []

    def agent(skill, task):
        return gate.answer(skill, task)

    thread = threading.Thread(target=lambda: result.append(make_run(folder, name="live", agent=agent)), daemon=True)
    thread.start()
    return thread, result


@pytest.mark.heavy
def test_a_live_run_updates_without_reload_ends_and_its_report_opens(tmp_path, serve, opened):
    gate = Gate(free=30)
    thread, result = start_gated(tmp_path / "runs" / "live", gate)
    (tmp_path / "runs").mkdir(exist_ok=True)
    shown = opened(serve(tmp_path / "runs"))
    page = shown.page
    row = row_of(page, "live")
    expect(row.locator("td").nth(3)).to_have_text("running", timeout=LIVE)
    page.evaluate("window.loadedOnce = true")
    gate.open.set()
    thread.join(60)
    expect(row.locator("td").nth(3)).to_have_text("finished", timeout=LIVE)
    expect(row.locator("td").nth(4)).to_contain_text(str(result[0].valuation.rollouts.spent))
    assert page.evaluate("window.loadedOnce")
    with page.context.expect_page() as waiting:
        row.get_by_role("link", name="Report").click()
    report = waiting.value
    expect(report.locator("section#skill")).to_be_visible(timeout=LIVE)
    assert report.evaluate("window.origin") == "null", "a report has no origin, so it cannot use the server"
    shown.assert_no_errors()


@pytest.mark.heavy
def test_a_stop_request_ends_a_run_and_keeps_what_finished(tmp_path, serve, opened):
    gate = Gate(free=80)
    folder = tmp_path / "runs" / "live"
    thread, result = start_gated(folder, gate)
    (tmp_path / "runs").mkdir(exist_ok=True)
    page = opened(serve(tmp_path / "runs")).page
    assert gate.reached.wait(60)
    button = row_of(page, "live").get_by_role("button", name="Stop")
    expect(button).to_be_visible(timeout=LIVE)
    with page.expect_response(lambda answer: answer.url.endswith("/stop")) as answered:
        button.click()
    assert answered.value.ok
    for _ in range(400):
        if not (folder / "stop-request").exists():
            break
        page.wait_for_timeout(50)
    gate.open.set()
    thread.join(60)
    assert isinstance(result[0].error, Interrupted)
    expect(row_of(page, "live").locator("td").nth(3)).to_have_text("stopped", timeout=LIVE)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two") / "runs"
    make_run(folder / "one", name=HOSTILE, hostile=True)
    make_run(folder / "two", name="shorter", text=SKILL.replace("- a remark\n", ""))
    return folder


@pytest.mark.heavy
def test_two_runs_are_compared_by_values_cost_and_text(two_runs, serve, opened):
    shown = opened(serve(two_runs))
    page = shown.page
    expect(page.locator("#runs tbody tr")).to_have_count(2, timeout=LIVE)
    assert page.locator("#compare").is_disabled()
    row_of(page, "shorter").locator("input").check()
    row_of(page, HOSTILE).locator("input").check()
    page.locator("#compare").click()
    expect(page.locator("#comparison-units tbody tr")).to_have_count(3, timeout=LIVE)
    expect(page.locator("#comparison-diff .added", has_text="a remark")).to_have_count(1)
    words = page.locator("#comparison-words").inner_text()
    assert all(name in words for name in page.locator("#runs .path").all_inner_texts())
    assert "rollouts" in page.locator("#comparison-words").inner_text()
    shown.assert_no_errors()


@pytest.mark.heavy
def test_transcripts_are_found_by_task_words_and_partial_skill(two_runs, serve, opened):
    shown = opened(serve(two_runs))
    page = shown.page
    row_of(page, HOSTILE).get_by_role("button", name="Transcripts").click(timeout=LIVE)
    rows = page.locator("#window button")
    expect(page.locator("#found")).to_contain_text("rollouts", timeout=LIVE)
    page.locator("#task").select_option("t04")
    expect(page.locator("#found")).not_to_have_text("", timeout=LIVE)
    expect(rows.first).to_contain_text("t04", timeout=LIVE)
    page.locator("#task").select_option("")
    page.locator("#words").fill("CRIMSON-t07")
    expect(page.locator("#found")).to_contain_text("hold these words", timeout=LIVE)
    expect(rows.first).to_contain_text("t07", timeout=LIVE)
    rows.first.click()
    expect(page.locator("#detail pre").first).to_contain_text("crimson-t07", timeout=LIVE)
    expect(page.locator("#detail p").first).to_contain_text("The agent had")
    page.locator("#words").fill("no such words")
    expect(page.locator("#found")).to_have_text("0 rollouts hold these words", timeout=LIVE)
    shown.assert_no_errors()


def test_a_narrow_page_breaks_no_words_and_overlaps_no_columns(two_runs, serve, opened):
    shown = opened(serve(two_runs))
    page = shown.page
    page.set_viewport_size({"width": 400, "height": 900})
    row_of(page, "shorter").get_by_role("button", name="Transcripts").click(timeout=LIVE)
    expect(page.locator("#window button").first).to_contain_text("t", timeout=LIVE)
    columns = (
        page.locator("#window button")
        .first.locator("span")
        .evaluate_all(
            "spans => spans.filter(one => one.offsetWidth).map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
        )
    )
    assert len(columns) == 4
    assert all(one[1] <= other[0] for one, other in pairwise(columns))
    assert columns[-1][1] <= 400
    heads = page.locator("#runs th").evaluate_all("heads => heads.map(one => one.getBoundingClientRect().height)")
    assert max(heads) < 45, "a word of the head is broken"
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_hostile_names_tasks_and_answers_run_nothing(two_runs, serve, opened):
    shown = opened(serve(two_runs))
    page = shown.page
    row = row_of(page, HOSTILE)
    expect(row).to_have_count(1, timeout=LIVE)
    row.get_by_role("button", name="Transcripts").click()
    page.locator("#task").select_option(HOSTILE_TASK, timeout=LIVE)
    expect(page.locator("#window button").first).to_contain_text(HOSTILE_TASK, timeout=LIVE)
    page.locator("#window button").first.click()
    expect(page.locator("#detail pre").first).to_contain_text(HOSTILE, timeout=LIVE)
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    shown.assert_no_errors()


@pytest.mark.heavy
def test_the_server_survives_a_deleted_run_folder(tmp_path, serve, opened):
    folder = tmp_path / "runs"
    make_run(folder / "one", name="first")
    make_run(folder / "two", name="second")
    page = opened(serve(folder)).page
    expect(page.locator("#runs tbody tr")).to_have_count(2, timeout=LIVE)
    row_of(page, "first").get_by_role("button", name="Transcripts").click()
    expect(page.locator("#window button").first).to_be_visible(timeout=LIVE)
    shutil.rmtree(folder / "one")
    expect(page.locator("#runs tbody tr")).to_have_count(1, timeout=LIVE)
    page.locator("#outcome").select_option("wrong")
    expect(page.locator("#message")).to_contain_text("not here any more", timeout=LIVE)
    row_of(page, "second").get_by_role("button", name="Transcripts").click()
    expect(page.locator("#found")).to_contain_text("rollouts", timeout=LIVE)


@pytest.mark.heavy
def test_the_page_says_which_run_it_shows_and_that_it_was_deleted(tmp_path, serve, opened):
    folder = tmp_path / "runs"
    make_run(folder / "one", name="first")
    make_run(folder / "two", name="second")
    shown = opened(serve(folder))
    page = shown.page
    expect(page.locator("#runs tbody tr")).to_have_count(2, timeout=LIVE)
    for name in ("first", "second"):
        row_of(page, name).locator("input").check()
    page.locator("#compare").click()
    expect(page.locator("#comparison")).to_be_visible(timeout=LIVE)
    row_of(page, "first").get_by_role("button", name="Transcripts").click()
    expect(page.get_by_role("heading", name="Transcripts of first")).to_contain_text("one", timeout=LIVE)
    expect(page.locator("#comparison-gone")).to_be_hidden()
    expect(page.locator("#transcripts-gone")).to_be_hidden()
    shutil.move(folder / "one", tmp_path / "away")
    expect(page.locator("#comparison-gone")).to_contain_text("one is not here any more", timeout=LIVE)
    expect(page.locator("#transcripts-gone")).to_contain_text("one is not here any more")
    row_of(page, "second").get_by_role("button", name="Transcripts").click()
    expect(page.get_by_role("heading", name="Transcripts of second")).to_contain_text("two", timeout=LIVE)
    expect(page.locator("#transcripts-gone")).to_be_hidden()
    shutil.move(tmp_path / "away", folder / "one")
    expect(page.locator("#comparison-gone")).to_be_hidden(timeout=LIVE)
    shown.assert_no_errors()


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_the_live_page(two_runs, serve, opened, axe_faults, scheme):
    page = opened(serve(two_runs), color_scheme=scheme, bypass_csp=True).page
    row_of(page, "shorter").get_by_role("button", name="Transcripts").click(timeout=LIVE)
    expect(page.locator("#window button").first).to_contain_text("t", timeout=LIVE)
    assert axe_faults(page) == []


@pytest.mark.heavy
def test_the_page_of_a_matrix_opens_from_the_run_of_an_agent(tmp_path, serve, opened):
    skill = tmp_path / "skills" / "several" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL.format(name="several"), encoding="utf-8")

    def other(skill, task):
        return "yes" if task.input == "red" else colours(skill, task)

    def work():
        return sv.matrix(
            skill.parent, tasks=tasks_of(), agents=[colours, other], max_rollouts=300, panel_b=0,
            run_dir=tmp_path / "runs" / "several",
        )  # fmt: skip

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    page = opened(serve(tmp_path / "runs")).page
    expect(page.locator("#runs tbody tr")).to_have_count(2, timeout=LIVE)
    with page.context.expect_page() as waiting:
        page.get_by_role("link", name="Matrix").first.click()
    expect(waiting.value.locator("table.heat th.agent")).to_have_count(2, timeout=LIVE)


@pytest.mark.heavy
def test_the_stop_button_of_an_agent_names_the_matrix_and_moves_to_the_next_agent(tmp_path, serve, opened):
    skill = tmp_path / "skills" / "several" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL.format(name="several"), encoding="utf-8")
    gate, result = Gate(free=30), []

    def fails(skill, task):
        raise RuntimeError("the key is wrong")

    def waits(skill, task):
        return gate.answer(skill, task)

    def work():
        return sv.matrix(
            skill.parent, tasks=tasks_of(), agents={"fails": fails, "waits": waits}, max_rollouts=300, panel_b=0,
            run_dir=tmp_path / "runs" / "several",
        )  # fmt: skip

    thread = threading.Thread(target=lambda: result.append(work()), daemon=True)
    thread.start()
    assert gate.reached.wait(60)
    page = opened(serve(tmp_path / "runs")).page
    expect(row_of(page, "/fails-").locator("td").nth(3)).to_have_text("stopped", timeout=LIVE)
    expect(row_of(page, "/waits-").locator("td").nth(3)).to_have_text("running", timeout=LIVE)
    assert row_of(page, "/fails-").get_by_role("button", name="Stop").count() == 0
    stop = row_of(page, "/waits-").get_by_role("button", name="Stop matrix")
    expect(stop).to_be_visible()
    with page.expect_response(lambda answer: answer.url.endswith("/stop")) as answered:
        stop.click()
    assert answered.value.ok
    gate.open.set()
    thread.join(60)
    expect(row_of(page, "/waits-").locator("td").nth(3)).not_to_have_text("running", timeout=LIVE)
    assert not result or result[0].error is not None
