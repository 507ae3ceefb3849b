"""The report page: how fast it is built and shown, how large it is, and whether scrolling stays smooth.

The made-up runs are those of the tests. Limits: 60 units under 400 KB and shown in 0.5 s; 600 units with 20,000
rollouts built in 5 s, under 3 MB, and no task over 200 ms while opening and while scrolling.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from skillsv.report import page, valuation_dict

ROOT = Path(__file__).resolve().parents[1]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]

SCROLL = """
async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let y = 0; y < document.documentElement.scrollHeight; y += 600) { scrollTo(0, y); await frame(); await frame(); }
}
"""


def figures() -> list[tuple[str, float, str]]:
    made_up = load_made_up()
    rows: list[tuple[str, float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for units, chains in ((60, 12), (600, 3)):
            case = made_up.make_case(
                Path(folder) / f"skill-{units}", text=made_up.long_skill(units), files={}, chains=chains
            )
            rows += measured(case, Path(folder) / f"report-{units}.html", f"{units} units", with_text=units > 60)
    return rows


def measured(case, path: Path, name: str, *, with_text: bool) -> list[tuple[str, float, str]]:
    rollouts = sum(len(step.scores) for record in case.records for step in record.steps)
    started = time.process_time()
    text = page(case.valuation, case.compiled, case.records, transcripts=case.rollouts if with_text else ())
    built = time.process_time() - started
    path.write_text(text, encoding="utf-8")
    started = time.process_time()
    json.dumps(valuation_dict(case.valuation))
    plain = time.process_time() - started
    return [
        (f"{name}: rollouts in the chains", rollouts, "rollouts"),
        (f"{name}: page built", built, "s of processor time"),
        (f"{name}: page built, against writing its JSON", built / plain, "x valuation JSON"),
        (f"{name}: size", len(text.encode()) / 1000, "KB"),
        *in_chromium(path, name),
    ]


def in_chromium(path: Path, name: str) -> list[tuple[str, float, str]]:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("(chromium is not installed: nothing drawn)")
        return []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        tab = browser.new_context(offline=True, viewport={"width": 1400, "height": 900}).new_page()
        opening = longest_task(browser, tab, lambda: open_fully(tab, path))
        tab.wait_for_function("performance.getEntriesByType('paint').length > 0")
        shown = tab.evaluate("performance.getEntriesByType('paint')[0].startTime / 1000")
        scrolling = longest_task(browser, tab, lambda: tab.evaluate(SCROLL))
        browser.close()
    return [
        (f"{name}: first paint in Chromium", shown, "s"),
        (f"{name}: longest task while opening", opening, "ms of processor time"),
        (f"{name}: longest task while scrolling through", scrolling, "ms of processor time"),
    ]


def open_fully(tab, path: Path) -> None:
    """Open the page, and wait until the script has built all that the page holds back."""
    tab.goto(path.as_uri(), wait_until="load")
    tab.locator("noscript").first.wait_for(state="detached")


def longest_task(browser, tab, action: Callable[[], object]) -> float:
    """The longest task on the page's main thread, in processor time: other programs on the machine do not count."""
    browser.start_tracing(page=tab)
    action()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = (event for event in events if event.get("name") == "RunTask" and (event["pid"], event["tid"]) in main)
    return max((event.get("tdur", 0) for event in tasks), default=0) / 1000


def load_made_up() -> ModuleType:
    """The tests' made-up runs: one set for correctness and speed."""
    spec = importlib.util.spec_from_file_location("made_up_reports", ROOT / "tests" / "report" / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    for what, value, unit in figures():
        print(f"{value:>14.3f}  {unit:<34} {what}")
