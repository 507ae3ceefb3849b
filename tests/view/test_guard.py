"""Who may use the server: this machine, this page, this token."""

from __future__ import annotations

import json

import httpx
import pytest

from .conftest import make_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("guard") / "runs"
    make_run(place / "one")
    return place


@pytest.fixture
def served(folder, serve):
    return serve(folder)


def test_the_page_has_a_policy_and_loads_nothing_else(served):
    answer = httpx.get(served.address)
    assert answer.status_code == 200
    rules = answer.headers["content-security-policy"]
    assert "default-src 'none'" in rules
    assert "connect-src 'self'" in rules
    assert "unsafe" not in rules
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "http" not in answer.text.replace("http-equiv", "").replace("noopener", "")


@pytest.mark.parametrize("path", ["", "events", "WRONG/", "WRONG/events"])
def test_a_missing_or_wrong_token_is_refused(served, path):
    answer = httpx.get(f"http://127.0.0.1:{served.port}/{path}")
    assert answer.status_code == 403
    assert served.token not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}"])
def test_another_host_is_refused(served, host):
    answer = httpx.get(served.address, headers={"host": host.format(port=served.port)})
    assert answer.status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(served, origin):
    answer = httpx.get(served.address, headers={"origin": origin.format(port=served.port)})
    assert answer.status_code == 403


def first_event(served):
    with httpx.stream("GET", f"{served.address}events", timeout=20) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))
    raise AssertionError("no event")


def test_a_stop_request_needs_the_origin_of_the_page(served, folder):
    run = first_event(served)["runs"][0]
    address = f"{served.address}run/{run['id']}/stop"
    assert httpx.post(address).status_code == 403
    assert not (folder / "one" / "stop-request").exists()
    assert httpx.get(address).status_code == 405
    assert httpx.post(address, headers={"origin": f"http://127.0.0.1:{served.port}"}).status_code == 200
    assert (folder / "one" / "stop-request").exists()
    (folder / "one" / "stop-request").unlink()


@pytest.mark.parametrize(
    "path", ["run/..%2f..%2fetc/report", "run/nothing/rollouts", "run/nothing/report", "compare/a/b"]
)
def test_what_is_no_run_is_an_error_in_words(served, path):
    answer = httpx.get(served.address + path)
    assert answer.status_code in {404, 409}


def test_reading_changes_no_file_of_a_run(served, folder):
    def state():
        return {
            path: (path.stat().st_size, path.stat().st_mtime_ns)
            for path in sorted((folder / "one").rglob("*"))
            if path.is_file() and not path.name.startswith("ledger.sqlite-")
        }

    before, run = state(), first_event(served)["runs"][0]["id"]
    report = httpx.get(f"{served.address}run/{run}/report", timeout=60)
    assert report.status_code == 200
    assert report.headers["content-security-policy"].startswith("sandbox")
    rollouts = httpx.get(f"{served.address}run/{run}/rollouts?limit=5", timeout=60).json()
    assert len(rollouts["rows"]) == 5
    found = httpx.get(f"{served.address}run/{run}/rollouts/{rollouts['rows'][0]['id']}", timeout=60).json()
    assert found["answer"].startswith(("yes", "no"))
    assert httpx.get(f"{served.address}compare/{run}/{run}", timeout=60).json()["diff"] == []
    assert state() == before
