"""A long page opens in short tasks: what begins closed is built when it is needed."""

from __future__ import annotations

import pytest

NEVER_IDLE = "window.requestIdleCallback = () => {};"
"""The browser has no time: only what a reader opens is built."""

MOST_ELEMENTS = 12_000
"""Elements that the browser makes of 300 units while opening; more than twice as many with all that begins closed."""


@pytest.mark.heavy
def test_what_begins_closed_is_built_when_it_is_opened(opening, long_text):
    shown = opening(long_text, script=NEVER_IDLE)
    page = shown.page
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_ELEMENTS
    unit = page.locator("details.unit[data-verdict]").last
    assert unit.locator(".about").count() == 0
    unit.locator("summary").click()
    assert unit.locator(".about").is_visible()
    page.locator("#values details.fold summary").click()
    assert page.locator("#values tbody tr").count() == 300
    page.locator("#values th button").first.click()
    assert page.locator("#values th").first.get_attribute("aria-sort") == "ascending"
    shown.assert_no_errors()


@pytest.mark.heavy
def test_link_to_a_line_that_is_not_built_opens_it(opening, long_text):
    page = opening(long_text, script=NEVER_IDLE).page
    last = page.locator("details.unit[data-verdict]").last.get_attribute("id")
    again = opening(long_text, script=NEVER_IDLE, anchor=f"#{last}").page
    assert again.locator(f"#{last} .about").is_visible()


@pytest.mark.heavy
def test_table_that_is_not_built_is_saved_whole(opening, long_text):
    page = opening(long_text, script=NEVER_IDLE, accept_downloads=True).page
    with page.expect_download() as saved:
        page.locator("#values [data-save=csv]").click()
    assert len(saved.value.path().read_text("utf-8").splitlines()) == 301


@pytest.mark.heavy
def test_all_of_a_long_page_is_built_soon(opening, long_text):
    page = opening(long_text).page
    page.locator("noscript").first.wait_for(state="detached")
    assert page.locator(".about").count() == 301  # and the frontmatter
    assert page.evaluate("document.querySelectorAll('*').length") > 2 * MOST_ELEMENTS


@pytest.mark.heavy
def test_without_a_script_everything_is_in_the_page(opening, long_text):
    page = opening(long_text, java_script_enabled=False).page
    unit = page.locator("details.unit[data-verdict]").last
    unit.locator("summary").click()
    assert unit.locator(".about").is_visible()
    assert page.locator("#values tbody tr").count() == 300
