"""The GitHub Action: its steps are run in a clean checkout with a fake event, and its comments go to a fake GitHub."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MARKER = "<!-- skillsv-check -->"
WORKFLOWS = [ROOT / "examples" / "ci" / name for name in ("lint.yml", "check.yml", "comment.yml")]
ACTIONS = [ROOT / "action.yml", ROOT / "tools" / "action" / "comment" / "action.yml"]

SKILL = """\
---
name: words
description: Words to say.
---

# Words

- Say `alpha` whenever anybody asks for the first of the words.
- Say `beta` whenever anybody asks for the second of the words.
- Speak of `gamma` to nobody, and write of it to nobody either.
"""
NEEDED = "- Say `beta` whenever anybody asks for the second of the words.\n"
DEAD = "- Speak of `gamma` to nobody, and write of it to nobody either.\n"
AGENT = r"""
import re

def answer(skill, task):
    return " ".join(re.findall(r"Say `(\w+)`", skill.text)) if skill else ""
"""


def git(folder, *words):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


class FakeGitHub:
    """The part of GitHub's API that comments need, on 127.0.0.1."""

    def __init__(self):
        self.comments, self.pulls, self.calls, self.may_write = [], [], [], True
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                status, result = fake.answer(self.command, self.path, body, self.headers)
                data = json.dumps(result).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of the base class

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method, path, body, headers):
        self.calls.append((method, path))
        if headers["Authorization"] != "Bearer secret-token":
            return 401, {}
        parts = urlsplit(path)
        if method == "GET" and parts.path == "/repos/team/skills/pulls":
            return 200, [pull for pull in self.pulls if pull["head"]["label"] == parse_qs(parts.query)["head"][0]]
        if method == "GET" and parts.path == "/repos/team/skills/issues/7/comments":
            page = int(parse_qs(parts.query)["page"][0])
            return 200, self.comments[100 * (page - 1) : 100 * page]
        if not self.may_write:
            return 403, {}
        if method == "POST" and parts.path == "/repos/team/skills/issues/7/comments":
            self.add(body["body"], "Bot")
            return 201, {}
        if method == "PATCH":
            number = int(parts.path.rpartition("/")[2])
            next(comment for comment in self.comments if comment["id"] == number)["body"] = body["body"]
            return 200, {}
        return 404, {}

    def add(self, body, kind):
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"type": kind}})

    def own(self):
        """The comments of the action."""
        return [one["body"] for one in self.comments if one["user"]["type"] == "Bot" and one["body"].startswith(MARKER)]


@pytest.fixture
def github():
    fake = FakeGitHub()
    yield fake
    fake.server.shutdown()


@pytest.fixture
def place(tmp_path):
    """An origin with one skill on main; `change` makes a clean checkout of a pull request."""
    origin = tmp_path / "origin"
    (origin / "skills" / "words").mkdir(parents=True)
    (origin / "evals").mkdir()
    (origin / "skills" / "words" / "SKILL.md").write_text(SKILL)
    (origin / "agent.py").write_text(AGENT)
    tasks = [
        {"id": f"t{n:03d}", "input": "?", "target": ["alpha", "beta"][n % 2], "verifier": "contains"} for n in range(80)
    ]
    (origin / "evals" / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "one")
    return tmp_path


def change(place, old, new=""):
    """A clean checkout of a pull request that replaces a text of the skill."""
    origin = place / "origin"
    git(origin, "checkout", "-qB", "change", "main")
    skill = origin / "skills" / "words" / "SKILL.md"
    skill.write_text(skill.read_text().replace(old, new))
    git(origin, "commit", "-qam", "change", "--allow-empty")
    shutil.rmtree(place / "checkout", ignore_errors=True)
    git(place, "clone", "-q", "--branch", "change", str(origin), "checkout")
    event = {"pull_request": {"number": 7, "base": {"sha": git(origin, "rev-parse", "main"), "ref": "main"}}}
    (place / "event.json").write_text(json.dumps(event))
    return place / "checkout"


INPUTS = {"tasks": "evals/tasks.jsonl", "agent": "python:agent.py:answer", "version": "none", "max-rollouts": "200"}


EMPTY = {
    "schema": "skillsv.check/1", "base": "main", "commit": "", "outcome": None, "claim": "tasks like these", "max_drop": 0.05,
    "level": 0.95, "skills": [], "rollouts": {"budget": 0, "new": 0, "reused": 0, "usd": None}, "exit_code": 0, "notes": [],
}  # fmt: skip
"""The result of a change that touches no skill."""


def run_action(place, github, inputs, action=ACTIONS[0]):
    """Run the steps of an action as the runner does: the exit code, the outputs and the step summary."""
    definition = yaml.safe_load(action.read_text())
    given = {name: str(one.get("default", "")) for name, one in definition["inputs"].items()}
    given |= {"github-token": "secret-token", **inputs}
    for name in ("output", "summary"):
        (place / name).write_text("")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(place / "home"),
        "RUNNER_TEMP": str(place / "temp"),
        "GITHUB_EVENT_PATH": str(place / "event.json"),
        "GITHUB_OUTPUT": str(place / "output"),
        "GITHUB_STEP_SUMMARY": str(place / "summary"),
        "GITHUB_REPOSITORY": "team/skills",
        "GITHUB_API_URL": github.url,
    }
    code, outputs, printed = 0, {}, ""
    for step in definition["runs"]["steps"]:
        condition = step.get("if", "")
        if code and "always()" not in condition:
            continue
        if "inputs.comment" in condition and (given["comment"] != "true" or not outputs.get("json")):
            continue
        values = {name: expand(text, given, outputs, action.parent) for name, text in step["env"].items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=place / "checkout", env={**environment, **values}, capture_output=True, text=True,
        )  # fmt: skip
        code = code or done.returncode
        printed += done.stdout + done.stderr
        outputs |= read_outputs((place / "output").read_text())
    return code, outputs, (place / "summary").read_text(), printed


def expand(text, inputs, outputs, folder):
    """The value of an expression of the action."""

    def value(match):
        name = match[1].strip()
        if name == "github.action_path":
            return str(folder)
        kind, _, rest = name.partition(".")
        return inputs[rest] if kind == "inputs" else outputs.get(rest.removeprefix("check.outputs."), "")

    return re.sub(r"\$\{\{(.*?)\}\}", value, str(text))


def read_outputs(text):
    return dict(re.findall(r"^([\w-]+)<<(?:end-\S+)\n(.*?)\nend-\S+$", text, flags=re.MULTILINE | re.DOTALL))


@pytest.mark.heavy
def test_a_needed_line_fails_and_the_comment_is_written_once_and_updated(place, github):
    github.add(f"{MARKER}\nA person copied the marker.", "User")
    change(place, NEEDED)
    code, outputs, summary, printed = run_action(place, github, {**INPUTS, "comment": "true"})
    assert code == 3, printed
    assert outputs["verdict"] == "worse"
    assert -70 < float(outputs["delta"]) < -30
    assert int(outputs["tokens-after"]) < int(outputs["tokens-before"])
    assert Path(outputs["report"]).read_text() == summary
    assert "| worse |" in summary
    assert len(github.own()) == 1
    assert "Deleted line 9" in github.own()[0]
    change(place, DEAD)
    code, outputs, _, printed = run_action(place, github, {**INPUTS, "comment": "true"})
    assert (code, outputs["verdict"]) == (0, "no worse"), printed
    assert len(github.own()) == 1
    assert "No worse" in github.own()[0]
    assert github.comments[0]["body"].endswith("A person copied the marker.")


@pytest.mark.heavy
def test_a_change_without_a_skill_runs_nothing(place, github):
    change(place, "no such text")
    code, outputs, summary, printed = run_action(place, github, INPUTS)
    assert (code, outputs["verdict"], outputs["delta"], outputs["tokens-after"]) == (0, "none", "", "0"), printed
    assert "No skill changed." in summary
    assert not (place / "checkout" / ".skillsv").exists()
    assert github.calls == []


@pytest.mark.heavy
def test_inputs_are_data_and_never_code(place, github):
    change(place, DEAD)
    attack = f'"; touch {place}/mark; $(touch {place}/mark) `touch {place}/mark` --help\n--yes'
    for names in (("tasks", "cache-dir", "sarif"), yaml.safe_load(ACTIONS[0].read_text())["inputs"]):
        code, _, _, _ = run_action(place, github, {**INPUTS, **dict.fromkeys(names, attack), "version": "none"})
        assert code
    assert not (place / "mark").exists()


@pytest.mark.heavy
def test_a_fork_gets_its_comment_from_a_second_workflow(place, github):
    change(place, NEEDED)
    github.may_write = False
    code, outputs, _, printed = run_action(place, github, {**INPUTS, "comment": "true"})
    assert code == 3
    assert "could not be written: 403" in printed
    assert github.comments == []
    github.may_write = True
    github.pulls = [
        {"number": 6, "head": {"label": "stranger:change", "sha": "older"}},
        {"number": 7, "head": {"label": "stranger:change", "sha": "abc"}},
    ]
    run = {"head_repository": {"owner": {"login": "stranger"}}, "head_branch": "change", "head_sha": "abc"}
    (place / "event.json").write_text(json.dumps({"workflow_run": run}))
    inputs = {"json": outputs["json"], "version": "none"}
    for _ in range(2):
        code, _, _, printed = run_action(place, github, inputs, ACTIONS[1])
        assert code == 0, printed
    assert len(github.own()) == 1
    (place / "event.json").write_text(json.dumps({"workflow_run": {**run, "head_sha": "other"}}))
    assert "No pull request" in run_action(place, github, inputs, ACTIONS[1])[3]


@pytest.mark.parametrize(
    "change_of",
    [{}, {"outcome": "@team <img src=x>"}, {"schema": "other"}, {"skills": [{"path": "x"}]}, {"rollouts": []}],
)
def test_a_forged_result_is_refused_before_anything_is_written(place, github, change_of):
    path = place / "check.json"
    path.write_text(json.dumps({**EMPTY, **change_of}))
    (place / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    (place / "checkout").mkdir()
    code, _, _, _ = run_action(place, github, {"json": str(path), "version": "none"}, ACTIONS[1])
    assert bool(code) == bool(change_of)
    assert bool(github.own()) == (not change_of)


@pytest.mark.parametrize(
    ("event", "given", "expected"),
    [
        ({"pull_request": {"base": {"sha": "abc"}}}, "", "abc"),
        ({"pull_request": {"base": {"sha": "abc"}}}, " v1 ", "v1"),
        ({"before": "def"}, "", "def"),
        ({"before": "0" * 40}, "", "origin/main"),
        ({}, "", "origin/main"),
    ],
)
def test_the_base_is_the_input_or_what_the_event_says(event, given, expected, monkeypatch):
    spec = importlib.util.spec_from_file_location("run_check", ROOT / "tools" / "action" / "run_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("INPUT_BASE", given)
    assert module.base_of(event) == expected


@pytest.mark.parametrize("path", ACTIONS + WORKFLOWS, ids=lambda path: path.parent.name + "/" + path.name)
def test_no_shell_body_contains_an_expression(path):
    definition = yaml.safe_load(path.read_text())
    jobs = [definition["runs"]] if "runs" in definition else definition["jobs"].values()
    steps = [step for job in jobs for step in job["steps"]]
    assert steps
    assert not any("${{" in step.get("run", "") for step in steps)


def test_the_action_has_the_promised_inputs_and_outputs():
    definition = yaml.safe_load(ACTIONS[0].read_text())
    wanted = {"skills", "tasks", "agent", "base", "max-usd", "max-rollouts", "max-drop", "comment", "sarif"}
    assert wanted <= set(definition["inputs"])
    assert {"verdict", "delta", "tokens-before", "tokens-after", "report"} <= set(definition["outputs"])


@pytest.mark.heavy
@pytest.mark.parametrize("path", ACTIONS + WORKFLOWS, ids=lambda path: path.parent.name + "/" + path.name)
def test_workflows_and_actions_have_the_published_schema(path):
    jsonschema = pytest.importorskip("jsonschema")
    package = importlib.util.find_spec("check_jsonschema")
    if package is None:
        pytest.skip("the package check-jsonschema is not installed; `make test-all` installs it")
    name = "github-actions" if path.name == "action.yml" else "github-workflows"
    folder = Path(package.origin).parent / "builtin_schemas" / "vendor"
    definition = yaml.safe_load(path.read_text())
    if True in definition:
        definition["on"] = definition.pop(True)  # YAML 1.1 reads `on` as a truth value
    schema = json.loads((folder / f"{name}.json").read_text())
    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(definition)] == []


@pytest.mark.heavy
def test_zizmor_finds_nothing_but_what_is_meant():
    """Examples name versions by tags, and the comment needs the trigger `workflow_run`."""
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("zizmor is not installed; `make test-all` installs it")
    command = [zizmor, "--offline", "--no-progress", "--no-config", "--format", "json", *ACTIONS, *WORKFLOWS]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    assert {one["ident"] for one in found} == {"unpinned-uses", "dangerous-triggers"}
    dangerous = [one for one in found if one["ident"] == "dangerous-triggers"]
    assert len(dangerous) == 1
