"""Fixtures of all tests: an empty configuration folder, the published schemas, and a real browser."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

SCHEMAS = Path(__file__).parents[1] / "docs" / "schema"

CHROMIUM = shutil.which("chromium")

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


@pytest.fixture(scope="session", autouse=True)
def _empty_configuration(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="session")
def validate():
    """Validate a document against the published schema that it names. Raises jsonschema.ValidationError."""

    def check(document):
        name = document["schema"].replace("/", "-")
        schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(document)

    return check


@pytest.fixture(scope="module")  # playwright runs an event loop in this thread, which other tests must not meet
def browser() -> Iterator[object]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def watch_script() -> str:
    """A script that records, in `window`, what a page executes and which parts of its policy it violates."""
    return WATCH


@pytest.fixture(scope="session")
def axe_faults():
    """The violations that axe finds on a page. Its policy must be bypassed to run axe; the page stays the same."""

    def find(page):
        axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
        page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [(fault["id"], [node["html"][:160] for node in fault["nodes"][:3]]) for fault in found]

    return find
