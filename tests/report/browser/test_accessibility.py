"""The page for people who use a keyboard, a screen reader or high contrast."""

from __future__ import annotations

import pytest

from skillsv.report.verdict_styles import VERDICT_STYLES


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_a_small_page(opening, small_text, scheme, axe_faults):
    # The policy must be bypassed to run axe in the page; the page itself stays the same.
    page = opening(small_text, color_scheme=scheme, bypass_csp=True).page
    page.locator("details.unit[data-verdict]").first.locator("summary .text").click()
    assert axe_faults(page) == []


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["written", "shorter", "diff"])
def test_axe_finds_no_violation(opening, text, scheme, view, axe_faults):
    page = opening(text, color_scheme=scheme, bypass_csp=True, anchor=f"#?view={view}").page
    if view == "written":
        for number in (1, 3):
            page.locator("details.unit[data-verdict]").nth(number).locator("summary .text").click()
        page.locator("button[data-verdict=keep]").click()
    for fold in page.locator(".meta details").all():
        fold.locator("summary").click()
    assert axe_faults(page) == []


@pytest.mark.heavy
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_a_phone_and_in_the_help(opening, text, scheme, axe_faults):
    page = opening(text, color_scheme=scheme, bypass_csp=True, width=390, height=844).page
    assert axe_faults(page) == []
    page.locator("#help-button").click()
    assert axe_faults(page) == []


@pytest.mark.heavy
def test_few_tab_stops_come_before_the_skill_of_a_long_page(opening, long_text):
    page = opening(long_text).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the skill"
    stops = 1
    while not page.evaluate("Boolean(document.activeElement.closest('.file'))"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= 60
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def luminance(colour):
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("style", VERDICT_STYLES.values(), ids=map(str, VERDICT_STYLES))
def test_the_colour_of_a_verdict_has_enough_contrast(style):
    assert contrast(style.light, "#fbfbfa") >= 4.5
    assert contrast(style.dark, "#1b1f23") >= 4.5
