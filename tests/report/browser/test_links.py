"""Links land on what they name, at every width, and back goes back."""

from __future__ import annotations

import pytest

WIDTHS = [(1440, 900), (1024, 768), (390, 844)]

LANDED = """async (id) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let number = 0; number < 8; number++) await frame();
  const target = document.getElementById(id);
  const sticky = [document.getElementById('bar')];
  if (target.closest('#skill') && target.id !== 'skill') sticky.push(document.getElementById('toolbar'));
  return target.getBoundingClientRect().top - Math.max(...sticky.map((bar) => bar.getBoundingClientRect().bottom));
}"""
"""Pixels between the lowest bar above the target and the target."""

CLICK = """(address) => document.querySelector(`a[href='${address}']`).dispatchEvent(
  new MouseEvent('click', {bubbles: true, cancelable: true}))"""
"""A click on the first link with this address; a link of a drawing has no method for it."""

GAP = 8
"""Pixels below the bar within which a target must be."""


def land(page, address):
    page.evaluate(CLICK, address)
    return page.evaluate(LANDED, address.removeprefix("#"))


def unit_addresses(page, number=20):
    """Links to units outside of their rows, from the whole length of the skill."""
    found = page.locator("#values a[href^='#u-'], #relations a[href^='#u-'], #score a[href^='#u-']")
    addresses = list(dict.fromkeys(found.evaluate_all("all => all.map(one => one.getAttribute('href'))")))
    return addresses[:: max(1, len(addresses) // number)][:number]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("width", "height", "motion"),
    [(*WIDTHS[0], "no-preference"), (*WIDTHS[1], "reduce"), (*WIDTHS[2], "no-preference"), (*WIDTHS[2], "reduce")],
)
def test_links_of_a_long_page_land_below_the_bar(opening, long_text, width, height, motion):
    page = opening(long_text, width=width, height=height, reduced_motion=motion).page
    panels = page.locator("nav li a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    units = unit_addresses(page)
    assert len(panels) >= 6
    assert len(units) == 20
    gaps = {address: land(page, address) for address in [*panels, *units, *panels[::-1]]}
    assert {address: gap for address, gap in gaps.items() if not -0.5 <= gap <= GAP} == {}


@pytest.mark.heavy
@pytest.mark.parametrize(("width", "height"), WIDTHS)
def test_every_panel_lands_below_the_bar(opening, text, width, height):
    page = opening(text, width=width, height=height).page
    panels = page.locator("nav li a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    gaps = {address: land(page, address) for address in [*panels, *unit_addresses(page)]}
    assert {address: gap for address, gap in gaps.items() if not -0.5 <= gap <= GAP} == {}


@pytest.mark.heavy
def test_an_address_with_a_unit_opens_on_it(opening, long_text):
    page = opening(long_text).page
    unit = page.locator("details.unit[data-verdict]").nth(222).get_attribute("id")
    again = opening(long_text, anchor=f"#{unit}", width=390, height=844).page
    assert -0.5 <= again.evaluate(LANDED, unit) <= GAP
    assert again.locator(f"#{unit} .about").is_visible()


@pytest.mark.heavy
def test_back_returns_to_the_panel_before(opening, text):
    page = opening(text).page
    land(page, "#score")
    unit = unit_addresses(page)[3]
    land(page, unit)
    page.go_back()
    assert page.evaluate("location.hash") == "#score"
    assert -0.5 <= page.evaluate(LANDED, "score") <= GAP
    page.go_forward()
    assert page.evaluate("location.hash") == unit


@pytest.mark.heavy
def test_a_filter_does_not_hide_the_target_of_a_link(opening, text):
    page = opening(text).page
    page.locator("button[data-verdict=harmful]").click()
    hidden = page.locator("details.unit.gone").first.get_attribute("id")
    page.evaluate("(id) => { location.hash = id }", hidden)
    assert page.locator(f"#{hidden} .about").is_visible()


@pytest.mark.heavy
def test_the_bars_of_a_phone_take_at_most_a_tenth_of_its_height(opening, text):
    page = opening(text, width=390, height=844).page
    land(page, unit_addresses(page)[0])
    assert page.evaluate("document.getElementById('toolbar').getBoundingClientRect().bottom") <= 84.4
