"""The page in a real browser without network: what people see, click and type."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skillsv.model.format import points
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.model.value import Action, Verdict
from skillsv.report import page as report_page
from skillsv.report.sentences import execution_units

PANELS = ["next", "score", "values", "sections", "tasks", "relations", "cost", "pruning", "method"]


@pytest.mark.heavy
def test_the_page_loads_nothing_and_reports_no_error(opening, text):
    shown = opening(text)
    shown.page.wait_for_load_state("load")
    for panel in PANELS:
        assert shown.page.locator(f"section#{panel} h2").is_visible()
    shown.assert_no_errors()


@pytest.mark.heavy
def test_panels_hold_the_numbers_of_the_valuation(opening, text, case):
    page = opening(text).page
    units = execution_units(case.valuation)
    for unit in units:
        row = page.locator(f"details.unit:has(code:text-is('{unit.id}'))")
        assert row.locator("summary .net").text_content() == points(unit.value.net.value)
        assert row.locator("summary .chip").text_content().split()[-1] == unit.verdict.action
    for panel, rows in (("values", len(units)), ("cost", len(units)), ("pruning", 3)):
        assert page.locator(f"#{panel} table[data-export] tbody tr").count() == rows
    assert page.locator("#method details table").count() == len(case.records)
    needed = {edge.target for edge in case.compiled.edges} - {case.compiled.trigger}
    assert page.locator("#relations table tbody tr").count() == len(needed)


def test_a_click_opens_a_unit_and_names_it_in_the_address(opening, text):
    page = opening(text).page
    unit = page.locator("details.unit[data-verdict]").nth(3)
    unit.locator("summary .text").click()
    assert unit.locator(".about").is_visible()
    assert page.evaluate("location.hash") == "#" + unit.get_attribute("id")
    unit.locator("summary .text").click()
    assert not unit.locator(".about").is_visible()


@pytest.mark.heavy
def test_keys_move_between_units_and_open_help(opening, text):
    page = opening(text).page
    focused = "document.activeElement.closest('details.unit')?.id"
    ids = page.locator("details.unit[data-verdict]").evaluate_all("all => all.map(one => one.id)")
    for key, expected in (("j", ids[0]), ("j", ids[1]), ("j", ids[2]), ("k", ids[1])):
        page.keyboard.press(key)
        assert page.evaluate(focused) == expected
    page.keyboard.press("Enter")
    assert page.locator(f"[id='{ids[1]}'] .about").is_visible()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


@pytest.mark.heavy
def test_the_key_j_reaches_units_of_other_files(opening, text):
    page = opening(text).page
    for _ in range(page.locator("details.unit[data-verdict]").count()):
        page.keyboard.press("j")
    last = page.locator("details.unit[data-verdict]").last
    assert last.locator("summary").first.is_visible()
    assert page.locator("[role=tab][aria-selected=true]").inner_text().strip() == "scripts/refund.py"


@pytest.mark.heavy
def test_the_address_restores_the_view(opening, text):
    page = opening(text).page
    unit = page.locator("details.unit[data-verdict]").nth(5).get_attribute("id")
    again = opening(text, anchor=f"#{unit}?q=customs&verdict=keep,delete&theme=dark&file=file-1").page
    assert again.locator(f"[id='{unit}'] .about").is_visible()
    assert again.locator("#search").input_value() == "customs"
    assert again.locator("button[data-verdict][aria-pressed=true]").count() == 2
    assert again.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_link_to_another_file_selects_its_tab(opening, text):
    page = opening(text).page
    tariff = page.locator("details.unit:has(code:text-is('references/tariff.md'))")
    assert not tariff.is_visible()
    page.locator("#values svg a", has_text="references/tariff.md").click()
    assert tariff.locator(".about").is_visible()
    assert page.locator("[role=tab][aria-selected=true]").inner_text().strip() == "references/tariff.md"


@pytest.mark.heavy
def test_a_chain_links_to_a_transcript(opening, text):
    page = opening(text).page
    link = page.locator("#method a[href^='#rollout-']").first
    target = link.get_attribute("href")
    link.evaluate("link => link.click()")
    assert page.locator(f"{target} pre").is_visible()
    assert "The answer to task-" in page.locator(f"{target} pre").inner_text()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.heavy
def test_the_theme_follows_the_system_and_the_button(opening, text):
    light, dark = opening(text, color_scheme="light").page, opening(text, color_scheme="dark").page
    assert background(light) != background(dark)
    before = background(light)
    assert light.locator("#theme").inner_text() == "Theme: system"
    light.locator("#theme").click()
    light.locator("#theme").click()
    assert light.locator("#theme").inner_text() == "Theme: dark"
    assert background(light) == background(dark) != before


@pytest.mark.heavy
def test_charts_can_be_saved_as_csv_json_and_svg(opening, text, case):
    shown = opening(text, accept_downloads=True)
    saved = {}
    for kind in ("csv", "json", "svg"):
        with shown.page.expect_download() as waiting:
            shown.page.locator(f"#values button[data-save={kind}]").click()
        saved[waiting.value.suggested_filename] = Path(waiting.value.path()).read_bytes().decode()
    units = execution_units(case.valuation)
    rows = json.loads(saved["values.json"])
    assert [row["id"] for row in rows] == [u.id for u in sorted(units, key=lambda u: -u.value.net.value)]
    assert rows[0]["net"] == pytest.approx(max(unit.value.net.value for unit in units), abs=1e-4)
    assert len(saved["values.csv"].split("\r\n")) == len(units) + 1
    assert saved["values.svg"].startswith("<svg")
    shown.assert_no_errors()


@pytest.mark.heavy
def test_the_page_is_complete_without_javascript(opening, text, case):
    page = opening(text, java_script_enabled=False).page
    for panel in PANELS:
        assert page.locator(f"section#{panel} h2").is_visible()
    for file in ("SKILL.md", "references/tariff.md", "scripts/refund.py"):
        assert page.locator("#written h3.path", has_text=file).is_visible()
    assert page.locator("details.unit > summary").evaluate_all("all => all.every(one => one.offsetHeight > 0)")
    for figure in ("score", "values", "sections", "tasks", "cost", "pruning", "method"):
        assert page.locator(f"#{figure} svg").first.is_visible()
    for view in ("written", "shorter", "diff"):
        assert page.locator(f"#{view}").is_visible()
    assert page.locator("dialog dt", has_text="net effect").is_visible()
    assert not page.locator(".toolbar, .actions button").first.is_visible()
    unit = page.locator("details.unit[data-verdict]").nth(2)
    unit.locator("summary").first.click()
    assert unit.locator(".about").is_visible()


WRAPPED = "all => all.every(one => one.scrollWidth <= one.clientWidth + 1)"
"""No text is wider than its box, which would cut it off."""


@pytest.mark.parametrize("width", [1400, 800, 420])
def test_the_page_never_scrolls_sideways(opening, text, width):
    page = opening(text).page
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".text:visible").evaluate_all(WRAPPED)


EVIL = """---
name: evil
description: "</title><script>alert('title')</script>"
---

# <script>alert('heading')</script>

</script><script>alert('script')</script>

</noscript><script>alert('noscript')</script>

- <img src=x onerror=alert('image')> and <svg onload=alert('svg')>
- [click](javascript:alert('link')) and <a href="javascript:alert('href')">this</a>
- \x1b[31mred\x1b[0m \u202ereversed\u202c \u2066isolated\u2069
- {{ 7 * 7 }} {% raw %} ${7*7} <style>body{display:none}</style>

<!-- --> <iframe srcdoc="<script>parent.alert('frame')</script>"></iframe>

LONG
"""


def evil_page(case_of):
    made = case_of(
        text=EVIL.replace("LONG", "x" * 1_000_000), files={"a<b>.md": "</pre><script>alert('file')</script>\n"}
    )
    bad = "</script><img src=x onerror=alert('reason')>"
    units = tuple(
        replace(unit, verdict=Verdict(unit=unit.id, action=Action.HARMFUL, reason=bad)) for unit in made.valuation.units
    )
    valuation = replace(made.valuation, units=units, notes=(bad,), skill={"name": bad})
    step = made.records[0].steps[0]
    task = made.records[0].plan.window.tasks[0]
    rollout = Rollout(
        key=RolloutKey(tree=step.tree, task="d", agent="a"), task_id=task, score=0.0, transcript=bad + "y" * 1_000_000
    )
    return report_page(valuation, made.compiled, made.records, transcripts=[rollout])


@pytest.mark.parametrize("width", [1400, 800])
def test_hostile_text_is_shown_and_not_run(opening, case_of, width):
    shown = opening(evil_page(case_of))
    page = shown.page
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    page.wait_for_load_state("load")
    body = page.locator("#skill").inner_text()
    for words in (
        "<script>alert('script')</script>",
        "onerror=alert('image')",
        "(javascript:alert('link'))",
        "{{ 7 * 7 }}",
        "␛[31mred",
        "⟨U+202E⟩",
    ):
        assert words in body
    assert page.locator("img, iframe, a[href^='javascript']").count() == 0
    assert page.locator("script").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".text:not(.long):visible, .diff > *, .meta li, .fold pre, .example dd").evaluate_all(WRAPPED)
    shown.assert_no_errors()
