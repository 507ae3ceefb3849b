"""Who may use the server: this machine, this page, this token."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

import pytest

from .conftest import make_run


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    def json(self):
        return json.loads(self.text)


def ask(served, path, *, method="GET", **headers):
    """One request to a path below the token, or to an absolute path."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    absolute = path if path.startswith("/") else f"/{served.token}/{path}"
    connection.request(method, absolute, headers=headers)
    found = connection.getresponse()
    answer = Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read().decode())
    connection.close()
    return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("guard") / "runs"
    make_run(place / "one")
    return place


@pytest.fixture
def served(folder, serve):
    return serve(folder)


def test_the_page_has_a_policy_and_loads_nothing_else(served):
    answer = ask(served, "")
    assert answer.status == 200
    rules = answer.headers["content-security-policy"]
    assert "default-src 'none'" in rules
    assert "connect-src 'self'" in rules
    assert "unsafe" not in rules
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "http" not in answer.text.replace("http-equiv", "").replace("noopener", "")


@pytest.mark.parametrize("path", ["", "events", "WRONG", "WRONG/", "WRONG/events"])
def test_a_missing_or_wrong_token_is_refused(served, path):
    answer = ask(served, f"/{path}")
    assert answer.status == 403
    assert served.token not in answer.text


def test_the_address_without_its_last_slash_leads_to_the_page(served):
    answer = ask(served, f"/{served.token}")
    assert (answer.status, answer.headers["location"]) == (307, f"/{served.token}/")


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
def test_the_address_without_its_last_slash_is_refused_to_others(served, headers):
    answer = ask(served, f"/{served.token}", **headers)
    assert answer.status == 403
    assert "location" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}"])
def test_another_host_is_refused(served, host):
    answer = ask(served, "", host=host.format(port=served.port))
    assert answer.status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(served, origin):
    answer = ask(served, "", origin=origin.format(port=served.port))
    assert answer.status == 403


def first_event(served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", f"/{served.token}/events")
    answer = connection.getresponse()
    while not (line := answer.readline().decode()).startswith("data: "):
        assert line
    connection.close()
    return json.loads(line.removeprefix("data: "))


def test_a_stop_request_needs_the_origin_of_the_page(served, folder):
    run = first_event(served)["runs"][0]
    path = f"run/{run['id']}/stop"
    assert ask(served, path, method="POST").status == 403
    assert not (folder / "one" / "stop-request").exists()
    assert ask(served, path).status == 405
    assert ask(served, path, method="POST", origin=f"http://127.0.0.1:{served.port}").status == 200
    assert (folder / "one" / "stop-request").exists()
    (folder / "one" / "stop-request").unlink()


@pytest.mark.parametrize(
    "path", ["run/..%2f..%2fetc/report", "run/nothing/rollouts", "run/nothing/report", "compare/a/b"]
)
def test_what_is_no_run_is_an_error_in_words(served, path):
    answer = ask(served, path)
    assert answer.status in {404, 409}


def test_reading_changes_no_file_of_a_run(served, folder):
    def state():
        return {
            path: (path.stat().st_size, path.stat().st_mtime_ns)
            for path in sorted((folder / "one").rglob("*"))
            if path.is_file() and not path.name.startswith("ledger.sqlite-")
        }

    before, run = state(), first_event(served)["runs"][0]["id"]
    report = ask(served, f"run/{run}/report")
    assert report.status == 200
    assert report.headers["content-security-policy"].startswith("sandbox")
    rollouts = ask(served, f"run/{run}/rollouts?limit=5").json()
    assert len(rollouts["rows"]) == 5
    found = ask(served, f"run/{run}/rollouts/{rollouts['rows'][0]['id']}").json()
    assert found["answer"].startswith(("yes", "no"))
    assert ask(served, f"compare/{run}/{run}").json()["diff"] == []
    assert state() == before
