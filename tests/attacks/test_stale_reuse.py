"""Stored rollouts are not reused where an input of the agent or verifier has changed.

Each test values a skill twice in one run folder. Between the two runs one input changes that decides the answers.
"""

import json
import sqlite3
import sys

import pytest

from skillsv.cli import run
from skillsv.model.fingerprint import first_part
from skillsv.pipeline.job import ValuationJob, load_job_tasks
from skillsv.settings.tree import convert_settings
from skillsv.tasks import load_tasks

SKILL = "---\nname: tiny\ndescription: Words.\n---\n# Words\n\n- Say `alpha` first.\n\n- Mumble.\n"

PROGRAM = """\
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
skill = os.environ.get("SKILLSV_SKILL")
text = (pathlib.Path(skill) / "SKILL.md").read_text() if skill else ""
{more}
print("alpha" if "alpha" in text else "")
"""

FUNCTION = """\
{more}

def answer(skill, task):
    return "alpha" if skill is not None and "alpha" in skill.text else ""
"""

CHECK = """\
{more}

def score(task, answer):
    return 1.0 if "alpha" in answer else 0.0
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A skill, tasks and the current folder."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"tiny/SKILL.md": SKILL, "agent.py": FUNCTION.format(more=""), "prog.py": PROGRAM.format(more="")})
    write_tasks(tmp_path, "contains")
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def write_tasks(folder, verifier):
    lines = [{"id": f"t{n}", "input": "?", "target": "alpha", "verifier": verifier} for n in range(3)]
    (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def value(*flags, agent="python:agent.py:answer"):
    """The exit code of a small valuation."""
    return run(command(*flags, agent=agent))


def command(*flags, agent="python:agent.py:answer"):
    """The words of a small valuation."""
    return (
        ["value", "tiny", "--tasks", "tasks.jsonl", "--agent", agent, "--operators", "delete", "--method", "chain",
         "-k", "1", "-b", "2", "-j", "1", "--panel-b", "0", "--run-dir", "run", "--yes", "--quiet", *flags]
    )  # fmt: skip


def stored(folder):
    """How many rollouts the ledger holds."""
    connection = sqlite3.connect(folder / "run" / "ledger.sqlite")
    (rows,) = connection.execute("select count(*) from rollout").fetchone()
    connection.close()
    return rows


def paid_twice(folder, change, *flags, **named):
    """Rollouts of a first run, of a repeated run, and of a run after the change."""
    assert value(*flags, **named) == 0
    first = stored(folder)
    assert value(*flags, **named) == 0
    assert stored(folder) == first, "an unchanged agent is reused"
    change()
    assert value(*flags, **named) == 0
    return first, stored(folder) - first


@pytest.mark.heavy
def test_another_forwarded_value_is_another_agent(project, monkeypatch):
    monkeypatch.setenv("VOICE", "low")
    agent = f"command:{sys.executable} prog.py"
    first, again = paid_twice(
        project, lambda: monkeypatch.setenv("VOICE", "high"), "--forward-env", "VOICE", agent=agent
    )
    assert again == first


def test_no_file_of_the_run_holds_a_forwarded_value(project, monkeypatch):
    monkeypatch.setenv("VOICE", "very-secret-value")
    assert value("--forward-env", "VOICE", agent=f"command:{sys.executable} prog.py") == 0
    held = [path for path in (project / "run").rglob("*") if path.is_file() and b"very-secret" in path.read_bytes()]
    assert held == []


AGENT_CHANGES = {
    "relative import": (
        "python:agent.py:answer",
        {"agent.py": FUNCTION.format(more="import pack.main"), "pack/main.py": "from .words import x"},
        "pack/words.py",
        "x = {}",
    ),
    "folder argument": (f"command:{sys.executable} prog.py data", {}, "data/words.txt", "{}"),
    "assigned file": (f"command:{sys.executable} prog.py config=conf.json", {}, "conf.json", "{}"),
    "text after bash -c": ("command:bash -c 'exec {python} {here}/helper.py'", {}, "helper.py", PROGRAM),
    "helper of a script": (
        "command:sh agent.sh",
        {"agent.sh": f'exec {sys.executable} "$(dirname "$0")/helper.py"\n'},
        "helper.py",
        PROGRAM,
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", AGENT_CHANGES)
def test_a_changed_file_of_the_agent_is_another_agent(name, project):
    agent, files, changed, text = AGENT_CHANGES[name]
    write(project, {**files, changed: text.replace("{more}", "").replace("{}", "1")})
    change = {changed: text.replace("{more}", "x = 2").replace("{}", "2")}
    first, again = paid_twice(
        project,
        lambda: write(project, change),
        agent=agent.replace("{here}", str(project)).replace("{python}", sys.executable),
    )
    assert again == first


VERIFIER_CHANGES = {
    "relative import": (
        "python:check.py:score",
        {"check.py": CHECK.format(more="import pack.main"), "pack/main.py": "from .words import x"},
        "pack/words.py",
    ),
    "folder argument": (f"command:{sys.executable} score.py data", {"score.py": "print(1.0)"}, "data/words.py"),
    "text after sh -c": ("command:sh -c '{python} {here}/score.py'", {}, "score.py"),
}


@pytest.mark.parametrize("name", VERIFIER_CHANGES)
def test_a_changed_file_of_the_verifier_is_another_task(name, project):
    verifier, files, changed = VERIFIER_CHANGES[name]
    write(project, {**files, changed: "x = 1\nprint(1.0)"})
    write_tasks(project, verifier.replace("{here}", str(project)).replace("{python}", sys.executable))
    first, again = paid_twice(project, lambda: write(project, {changed: "x = 2\nprint(1.0)"}), "--keep-going")
    assert again == first


EDITS_ITSELF = """\
import pathlib
calls = []

def answer(skill, task):
    calls.append(task.id)
    if len(calls) == 4:
        with open(__file__, "a") as stream:
            stream.write("# another line")
    return "alpha" if skill is not None and "alpha" in skill.text else ""
"""


def test_an_agent_that_changes_during_the_run_stops_it(project, capsys):
    write(project, {"agent.py": EDITS_ITSELF})
    assert value() == 2
    assert "changed during the run" in capsys.readouterr().err
    assert stored(project) == 3, "answers after the change are not saved"


def test_a_verifier_that_changes_during_the_run_stops_it(project, capsys):
    write(project, {"check.py": EDITS_ITSELF.replace("def answer(skill, task)", "def score(task, answer)").replace(
        'return "alpha" if skill is not None and "alpha" in skill.text else ""', "return float('alpha' in answer)"
    )})  # fmt: skip
    write_tasks(project, "python:check.py:score")
    assert value() == 2
    assert "check.py" in capsys.readouterr().err
    assert stored(project) == 3


def test_a_declared_file_is_part_of_the_agent(project):
    write(project, {"words/a.txt": "1"})
    first, again = paid_twice(
        project,
        lambda: write(project, {"words/a.txt": "2"}),
        "--depends-on",
        "words/*.txt",
        "--depends-on",
        "tiny/SKILL.md",
    )
    assert again == first


def test_an_edited_file_with_the_same_declared_version_is_the_same_agent(project):
    edited = {"agent.py": FUNCTION.format(more="# a comment")}
    _, again = paid_twice(project, lambda: write(project, edited), "--agent-version", "3")
    assert again == 0
    before = stored(project)
    assert value("--agent-version", "4") == 0
    assert stored(project) == 2 * before


@pytest.mark.heavy
def test_the_declared_version_stands_for_files_and_not_for_settings(project, monkeypatch):
    """Forwarded values still count, and so does the command itself."""
    agent = f"command:{sys.executable} prog.py"
    monkeypatch.setenv("VOICE", "low")
    flags = ("--agent-version", "3", "--forward-env", "VOICE")
    first, again = paid_twice(project, lambda: monkeypatch.setenv("VOICE", "high"), *flags, agent=agent)
    assert again == first


@pytest.mark.parametrize("name", ["server", "temperature"])
def test_another_server_or_temperature_of_the_judge_is_another_task(name, project, monkeypatch):
    """The digests of the tasks differ; nothing is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_tasks(project, "judge")
    changes = {"server": {"base_url": "http://127.0.0.1:2/v1"}, "temperature": {"temperature": 1.0}}[name]
    settings = {"judge": "model:openai:small", "base_url": "http://127.0.0.1:1/v1"}
    digests = [judged_digests(project, settings), judged_digests(project, {**settings, **changes})]
    assert not digests[0] & digests[1]
    assert {first_part(text) for text in digests[0]} == {first_part(text) for text in digests[1]}


def test_a_judge_without_further_inputs_keeps_the_digests_of_earlier_versions(project):
    write_tasks(project, "judge")
    judged = judged_digests(project, {"judge": "python:agent.py:answer"})
    assert judged == {task.digest for task in load_tasks(project / "tasks.jsonl", judge="python:agent.py:answer")}


def test_a_forwarded_value_that_the_judge_sees_is_in_the_digest(project, monkeypatch):
    write_tasks(project, "judge")
    found = set()
    for voice in ("low", "high"):
        monkeypatch.setenv("VOICE", voice)
        found |= judged_digests(project, {"judge": f"command:{sys.executable} prog.py", "forward_env": ["VOICE"]})
    assert len(found) == 6


def judged_digests(folder, settings):
    """The digests of the tasks of a run with these settings."""
    job = ValuationJob(
        skill=folder / "tiny",
        tasks=folder / "tasks.jsonl",
        agent="python:agent.py:answer",
        settings=convert_settings(settings),
        folder=folder,
    )
    return {task.digest for task in load_job_tasks(job)}


def notes(capsys):
    return " ".join(capsys.readouterr().err.split())


def test_a_run_says_what_it_reuses_since_when_and_what_is_not_checked(project, capsys):
    assert value() == 0
    first = stored(project)
    edit_ledger(project, "update rollout set saved = 86400 * 365")
    assert run([word for word in command() if word != "--quiet"]) == 0
    said = notes(capsys)
    assert f"Reused {first} stored rollouts, the oldest of 1971-01-01; not checked: installed packages" in said


def test_the_first_run_reuses_nothing_and_says_nothing(project, capsys):
    assert run([word for word in command() if word != "--quiet"]) == 0
    assert "Reused" not in notes(capsys)


def edit_ledger(folder, statement):
    connection = sqlite3.connect(folder / "run" / "ledger.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_rollouts_with_other_inputs_are_taken_over_only_on_request(project, monkeypatch, capsys):
    monkeypatch.setenv("VOICE", "low")
    words = [word for word in command("--forward-env", "VOICE") if word != "--quiet"]
    assert run(words) == 0
    first = stored(project)
    monkeypatch.setenv("VOICE", "high")
    capsys.readouterr()
    assert run([*words, "--max-rollouts", "1"]) == 4
    assert f"{first} rollouts of this agent are stored with other inputs" in notes(capsys)
    assert run([*words, "--reuse-unchecked"]) == 0
    said = notes(capsys)
    assert f"Took over {first - 1} stored rollouts without checking forwarded values" in said
    assert f"({first - 1} of them taken over unchecked)" in said
    assert stored(project) == 2 * first, "the rollouts under the old keys are kept, none was run"


def test_status_says_why_stored_rollouts_are_not_reused(project, monkeypatch, capsys):
    monkeypatch.setenv("VOICE", "low")
    assert value("--forward-env", "VOICE") == 0
    first = stored(project)
    write(project, {"agent.py": FUNCTION.format(more="# edited")})
    assert value("--forward-env", "VOICE") == 0
    monkeypatch.setenv("VOICE", "high")
    assert value("--forward-env", "VOICE") == 0
    capsys.readouterr()
    assert run(["status", "run"]) == 0
    printed = capsys.readouterr().out
    assert f"Stored for this agent and these tasks: {first}, the oldest of 2" in printed
    assert f"Not reused: {first}, because their inputs differ" in printed
    assert f"Not reused: {first}, because the agent, its settings or its files differ." in printed


READS_A_FILE = """\
import pathlib

def answer(skill, task):
    word = pathlib.Path(__file__).with_name("words").joinpath("word.txt").read_text()
    return word if skill is not None and "alpha" in skill.text else ""
"""


def test_repeated_rollouts_that_differ_refuse_the_stored_ones(project, capsys):
    """The agent reads a file that no fingerprint covers, and the file changes."""
    write(project, {"agent.py": READS_A_FILE, "words/word.txt": "alpha"})
    assert value() == 0
    first = stored(project)
    assert value("--recheck", "5") == 0
    assert stored(project) == first + 5, "an agent that has not changed is repeated once"
    write(project, {"words/word.txt": "beta"})
    capsys.readouterr()
    assert value("--recheck", str(first)) == 3
    assert "not those of this agent any more" in capsys.readouterr().err


def test_refused_rollouts_that_were_taken_over_are_not_reused_later(project, monkeypatch):
    write(project, {"agent.py": READS_A_FILE, "words/word.txt": "alpha"})
    monkeypatch.setenv("VOICE", "low")
    assert value("--forward-env", "VOICE") == 0
    first = stored(project)
    monkeypatch.setenv("VOICE", "high")
    write(project, {"words/word.txt": "beta"})
    assert value("--forward-env", "VOICE", "--reuse-unchecked", "--recheck", str(first)) == 3
    connection = sqlite3.connect(project / "run" / "ledger.sqlite")
    agents = connection.execute("select agent, count(*) from rollout where tree not like '% recheck:%' group by 1")
    assert [number for _, number in agents] == [first]
    connection.close()
