"""What a reader does with the page: the first screen, why, the three views, filters, copying, saving, sorting."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from skillsv.model.value import Action
from skillsv.report.sentences import execution_units

VISIBLE_UNITS = """all => all.filter((one) => {
  const box = one.getBoundingClientRect();
  return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
}).length"""
"""Units whose rows are completely on the screen."""


@pytest.mark.heavy
def test_the_first_screen_has_verdict_actions_and_ten_lines(opening, text):
    page = opening(text).page
    assert page.locator("h1").inner_text() == "Delete 1 line: 5% shorter, +10.0 points on 72 unseen tasks, confirmed"
    for words in ("Copy the shorter skill", "Download the patch", "Copy the command"):
        button = page.locator(".actions button", has_text=words)
        assert button.bounding_box()["y"] < 400
    assert page.locator("details.unit[data-verdict] > summary").evaluate_all(VISIBLE_UNITS) >= 10
    assert page.locator(".checks summary").inner_text() == "5 checks, all passed"
    assert "python:agent.py:answer · 48 + 72 tasks · 17 Nov 2026" in page.locator(".origin summary").inner_text()


@pytest.mark.heavy
def test_opening_a_line_shows_the_answers_side_by_side(opening, text, case):
    page = opening(text).page
    unit = page.locator("details.unit[data-verdict]").nth(2)
    unit.locator("summary .text").click()
    example = unit.locator(".example").first
    shown = example.inner_text()
    for words in ("Where is parcel 0?", "on its way", "no idea", "right", "wrong", "with the whole skill"):
        assert words in shown
    columns = example.locator("dl > div")
    assert len({round(columns.nth(index).bounding_box()["y"]) for index in range(4)}) == 1
    about = unit.locator(".about").inner_text()
    assert "raised the score of 2 tasks (parcels 1, refunds 1)" in about
    ids = [unit.id for unit in execution_units(case.valuation)]
    assert sum(about.count(name) for name in ids) == sum(name in unit.locator(".name").inner_text() for name in ids) + 2


@pytest.mark.heavy
def test_filters_hide_lines_that_do_not_match(opening, text, case):
    page = opening(text).page
    units = execution_units(case.valuation)
    page.keyboard.press("/")
    page.keyboard.type("refund in full")
    assert page.locator("details.unit[data-verdict]:visible").count() == 1
    assert page.locator("#match-count").inner_text() == f"1 of {len(units)} lines"
    assert page.locator("details.unit mark").all_inner_texts() == ["Refund in full"]
    assert page.locator(".scaffold.heading:visible").count() == 1
    assert page.locator("[role=tab] .hit-count").all_inner_texts() == ["1", "0", "0"]
    page.keyboard.press("Escape")
    assert page.locator(".gone, mark").count() == 0
    page.locator("button[data-verdict=harmful]").click()
    harmful = [unit for unit in units if unit.verdict.action is Action.HARMFUL]
    assert page.locator("details.unit[data-verdict]:not(.gone)").count() == len(harmful)
    assert "verdict=harmful" in page.evaluate("location.hash")


@pytest.mark.heavy
def test_next_and_previous_walk_through_the_hits(opening, text):
    page = opening(text).page
    page.locator("button[data-verdict=keep]").click()
    kept = page.locator("details.unit[data-verdict=keep]").evaluate_all("all => all.map(one => one.id)")
    focused = "document.activeElement.closest('details.unit')?.id"
    for button, expected in (("#following", kept[0]), ("#following", kept[1]), ("#previous", kept[0])):
        page.locator(button).click()
        assert page.evaluate(focused) == expected


@pytest.mark.heavy
def test_the_switch_shows_one_version_at_a_time_and_back_undoes_it(opening, text):
    page = opening(text).page
    for name in ("shorter", "diff", "written"):
        page.locator(f"button[data-view={name}]").click()
        assert page.locator(".view:visible").evaluate_all("all => all.map(one => one.id)") == [name]
    page.go_back()
    assert page.locator("#diff").is_visible()
    assert page.locator("#diff del .words").all_inner_texts() == ["- Give amounts in euros, with two decimals."]
    assert "1. then 190 tokens, 90.0 points" in page.locator("#diff del").inner_text()


def saved_by(page, button):
    with page.expect_download() as waiting:
        page.locator(button).first.click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


@pytest.mark.heavy
def test_copy_and_download_give_the_exact_bytes(opening, text, shorter):
    shown = opening(text, accept_downloads=True, permissions=["clipboard-read", "clipboard-write"])
    page = shown.page
    page.locator(".actions button", has_text="Copy the shorter skill").click()
    page.locator("#copied", has_text="SKILL.md copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").encode() == shorter.after["SKILL.md"]
    page.locator(".actions button", has_text="Copy the command").click()
    page.locator("#copied", has_text="Command copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "skillsv prune .skillsv/parcel-desk --in-place"
    page.locator("button[data-view=shorter]").click()
    assert saved_by(page, "#shorter button[data-download]") == ("SKILL.md", shorter.after["SKILL.md"])
    shown.assert_no_errors()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_applies_the_downloaded_patch(opening, text, shorter, tmp_path):
    name, patch = saved_by(opening(text, accept_downloads=True).page, ".actions button[data-download]")
    assert name == "parcel-desk.patch"
    folder = tmp_path / "skill"
    for path, data in shorter.before.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=folder, check=True)
    assert {path: (folder / path).read_bytes() for path in shorter.before} == shorter.after


def test_the_line_number_copies_a_link(opening, text):
    page = opening(text, permissions=["clipboard-read", "clipboard-write"]).page
    unit = page.locator("details.unit[data-verdict]").nth(4)
    unit.locator("summary .line").click()
    page.locator("#copied", has_text="Link to line").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"#{unit.get_attribute('id')}")
    assert not unit.locator(".about").is_visible()


@pytest.mark.heavy
def test_a_click_on_a_heading_sorts_a_table(opening, text):
    page = opening(text).page
    page.locator("#values details.fold summary").click()
    heading = page.locator("#values th", has_text="tokens")
    column = heading.evaluate("cell => cell.cellIndex")
    read = f"all => all.map((row) => Number(row.cells[{column}].textContent))"
    for sort in ("ascending", "descending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == sort
        tokens = page.locator("#values tbody tr").evaluate_all(read)
        assert tokens == sorted(tokens, reverse=sort == "descending")


@pytest.mark.heavy
def test_the_minimap_leads_to_the_line_at_its_place(opening, long_text):
    page = opening(long_text).page
    box = page.locator("#minimap").bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] / 2)
    opened = page.locator("details.unit[data-verdict][open]").get_attribute("id")
    ids = page.locator("details.unit[data-verdict]").evaluate_all("all => all.map(one => one.id)")
    assert abs(ids.index(opened) - 150) <= 2


@pytest.mark.heavy
def test_print_is_light_and_cuts_nothing(opening, text):
    page = opening(text, anchor="#?theme=dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.unit[data-verdict] .text')).color")
        == "rgb(29, 35, 41)"
    )
    assert not page.locator("nav, .toolbar").first.is_visible()
    wide = (
        "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel || one.className)"
    )
    page.set_viewport_size({"width": 720, "height": 1000})  # a sheet of paper
    assert page.locator(".scroll, .text, .diff").evaluate_all(wide) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 720


def test_the_page_carries_the_patch_as_base64(text, shorter):
    saved = re.search(r'id="saved-patch"[^>]* data-base64="([^"]+)"', text)[1]
    assert base64.b64decode(saved) == shorter.patch
