"""The page in a real browser without network: what people see, click and type."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from skillsv.model.edit import CurvePoint, PruningCurve
from skillsv.model.format import points
from skillsv.model.rollout import Rollout, RolloutKey
from skillsv.model.value import Action, Interval, Verdict
from skillsv.report import page as report_page
from skillsv.report.sentences import execution_units

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip

# Runs before the page's own script and records every alert and every violation of the policy.
WATCH = """
window.executed = [];
window.alert = (what) => window.executed.push(String(what));
window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective + ' ' + event.blockedURI));
"""


@dataclass
class Opened:
    """A page with the requests and errors it caused."""

    page: object
    path: Path
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_no_errors(self) -> None:
        own = self.path.as_uri()
        assert [address for address in self.requests if not address.startswith((own, "data:", "blob:"))] == []
        assert self.errors == []
        assert self.page.evaluate("window.violations") == []
        assert self.page.evaluate("window.executed") == []


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture
def opening(browser, tmp_path):
    contexts = []

    def opened(text: str, *, anchor: str = "", **options) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900}, **options)
        contexts.append(context)
        result = Opened(page=context.new_page(), path=path)
        if options.get("java_script_enabled", True):
            context.add_init_script(WATCH)
        result.page.on("request", lambda request: result.requests.append(request.url))
        result.page.on("pageerror", lambda error: result.errors.append(str(error)))
        result.page.on(
            "console", lambda message: message.type in {"error", "warning"} and result.errors.append(message.text)
        )
        result.page.goto(path.as_uri() + anchor)
        return result

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def text(case):
    points_of_curve = tuple(
        CurvePoint(share_removed=share, tokens_left=9, score=Interval(score, score - 0.1, score + 0.1))
        for share, score in ((0.0, 0.8), (0.5, 0.8), (1.0, 0.2))
    )
    curves = [PruningCurve(method="skillsv", points=points_of_curve, auc=Interval(0.6, 0.5, 0.7))]
    return report_page(case.valuation, case.compiled, case.records, curves=curves, transcripts=case.rollouts)


PANELS = ["skill", "values", "decisions", "tree", "dependencies", "pruning", "edits", "chains"]


def test_the_page_loads_nothing_and_reports_no_error(opening, text):
    shown = opening(text)
    shown.page.wait_for_load_state("load")
    for panel in PANELS:
        assert shown.page.locator(f"section#{panel} h2").is_visible()
    shown.assert_no_errors()


def test_panels_hold_the_numbers_of_the_valuation(opening, text, case):
    page = opening(text).page
    assert page.locator("#lift").inner_text() == points(case.valuation.estimate.content_lift.value)
    units = execution_units(case.valuation)
    for unit in units:
        row = page.locator(f"details.unit:has(code:text-is('{unit.id}'))")
        assert row.locator("summary .net").text_content() == points(unit.value.net.value)
        assert row.locator("summary .chip").text_content().split()[-1] == unit.verdict.action
    for panel, rows in (("values", len(units)), ("decisions", len(units)), ("pruning", 3)):
        assert page.locator(f"#{panel} table[data-export] tbody tr").count() == rows
    to_edit = [unit for unit in units if unit.verdict.action in {Action.DELETE, Action.HARMFUL, Action.COMPRESS}]
    assert page.locator("#edits .hunk").count() == len(to_edit)
    assert page.locator("#chains details table").count() == len(case.records)
    content = [edge for edge in case.compiled.edges if edge.target != case.compiled.trigger]
    assert page.locator("#dependencies table tbody tr").count() == len(content)


def test_a_click_opens_a_unit_and_names_it_in_the_address(opening, text):
    page = opening(text).page
    unit = page.locator("details.unit").nth(3)
    unit.locator("summary").first.click()
    assert unit.locator(".about").is_visible()
    assert page.evaluate("location.hash") == "#" + unit.get_attribute("id")
    unit.locator("summary").first.click()
    assert not unit.locator(".about").is_visible()


def test_keys_move_between_units_and_open_help(opening, text):
    page = opening(text).page
    focused = "document.activeElement.closest('details.unit')?.id"
    ids = page.locator("details.unit").evaluate_all("all => all.map(one => one.id)")
    for key, expected in (("j", ids[0]), ("j", ids[1]), ("j", ids[2]), ("k", ids[1])):
        page.keyboard.press(key)
        assert page.evaluate(focused) == expected
    page.keyboard.press("Enter")
    assert page.locator(f"[id='{ids[1]}'] .about").is_visible()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_the_key_j_reaches_units_of_other_files(opening, text):
    page = opening(text).page
    for _ in range(page.locator("details.unit").count()):
        page.keyboard.press("j")
    last = page.locator("details.unit").last
    assert last.locator("summary").first.is_visible()
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "scripts/refund.py"


def test_search_and_filter_dim_units_that_do_not_match(opening, text, case):
    page = opening(text).page
    page.keyboard.press("/")
    page.keyboard.type("refund in full")
    assert page.locator("details.unit:not(.dim)").count() == 1
    assert page.locator("#match-count").inner_text() == f"1 of {len(execution_units(case.valuation))} units"
    page.keyboard.press("Escape")
    assert page.locator("details.unit.dim").count() == 0
    page.locator("button[data-verdict=harmful]").click()
    harmful = sum(unit.verdict.action is Action.HARMFUL for unit in execution_units(case.valuation))
    assert page.locator("details.unit:not(.dim)").count() == harmful
    assert "verdict=harmful" in page.evaluate("location.hash")


def test_the_address_restores_the_view(opening, text):
    page = opening(text).page
    unit = page.locator("details.unit").nth(5).get_attribute("id")
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
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "references/tariff.md"


def test_a_unit_links_to_a_transcript(opening, text):
    page = opening(text).page
    page.locator("details.unit:has(a[href^='#rollout-'])").first.locator("summary").first.click()
    link = page.locator("details.unit[open] a[href^='#rollout-']").first
    target = link.get_attribute("href")
    link.click()
    assert page.locator(f"{target} pre").is_visible()
    assert "The answer to task-" in page.locator(f"{target} pre").inner_text()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_theme_follows_the_system_and_the_button(opening, text):
    light, dark = opening(text, color_scheme="light").page, opening(text, color_scheme="dark").page
    assert background(light) != background(dark)
    before = background(light)
    light.locator("#theme").click()
    light.locator("#theme").click()
    assert background(light) == background(dark) != before


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


def test_the_page_is_complete_without_javascript(opening, text, case):
    page = opening(text, java_script_enabled=False).page
    for panel in PANELS:
        assert page.locator(f"section#{panel} h2").is_visible()
    for file in ("SKILL.md", "references/tariff.md", "scripts/refund.py"):
        assert page.locator("h3.path", has_text=file).is_visible()
    assert page.locator("details.unit > summary").evaluate_all("all => all.every(one => one.offsetHeight > 0)")
    for figure in ("values", "decisions", "tree", "dependencies", "pruning", "chains"):
        assert page.locator(f"#{figure} svg").first.is_visible()
    assert page.locator("#edits .hunk").first.is_visible()
    assert not page.locator(".toolbar").is_visible()
    unit = page.locator("details.unit").nth(2)
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
    assert page.locator(".text:visible, .diff > *, .note, .fold pre").evaluate_all(WRAPPED)
    shown.assert_no_errors()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_accessibility_fault(opening, text, scheme):
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    # The policy must be bypassed to run axe in the page; the page itself stays the same.
    page = opening(text, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce").page
    page.locator("details.unit").nth(3).locator("summary").first.click()
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
    assert [(fault["id"], [node["html"][:160] for node in fault["nodes"][:3]]) for fault in serious] == []
