"""Twenty more changes that must make another agent, or another task: a stored answer would be stale."""

import sys

import pytest

from skillsv.agents import AgentOptions, make_agent
from skillsv.tasks import load_tasks

PY = sys.executable
FUNCTION = "def answer(skill, task, replicate):\n    return ''\n"

AGENTS = {
    "the program": ("command:./run.sh", {"run.sh": "echo {}\n"}, {}),
    "a sourced file": ("command:sh run.sh", {"run.sh": '. "$(dirname "$0")/lib.sh"\n', "lib.sh": "x={}\n"}, {}),
    "a file of a sourced file": (
        "command:sh run.sh",
        {"run.sh": "source ./lib.sh\n", "lib.sh": "source ./deep.sh\n", "deep.sh": "x={}\n"},
        {},
    ),
    "an import": (f"command:{PY} run.py", {"run.py": "import words\n", "words.py": "x = {}\n"}, {}),
    "an import of an import": (
        f"command:{PY} run.py",
        {"run.py": "import a\n", "a.py": "import b\n", "b.py": "x = {}\n"},
        {},
    ),
    "a package": (f"command:{PY} run.py", {"run.py": "import pack\n", "pack/__init__.py": "x = {}\n"}, {}),
    "a module of a package": (
        f"command:{PY} run.py",
        {"run.py": "from pack import one\n", "pack/__init__.py": "", "pack/one.py": "x = {}\n"},
        {},
    ),
    "a module above": (
        f"command:{PY} run.py",
        {"run.py": "import pack.sub.m\n", "pack/sub/m.py": "from ..words import x\n", "pack/words.py": "x = {}\n"},
        {},
    ),
    "an import inside a function": (
        f"command:{PY} run.py",
        {"run.py": "def f():\n    import words\n", "words.py": "x = {}\n"},
        {},
    ),
    "a file argument": (f"command:{PY} run.py prompt.txt", {"run.py": "", "prompt.txt": "{}"}, {}),
    "a file after --config=": (f"command:{PY} run.py --config=c.toml", {"run.py": "", "c.toml": "{}"}, {}),
    "a file in a folder argument": (f"command:{PY} run.py data", {"run.py": "", "data/a/b.txt": "{}"}, {}),
    "a script in bash -c": ("command:bash -c './helper.sh x'", {"helper.sh": "echo {}\n"}, {}),
    "a declared file": (f"command:{PY} run.py", {"run.py": "", "d.bin": "{}"}, {"depends_on": ("d.bin",)}),
    "a declared glob": (f"command:{PY} run.py", {"run.py": "", "w/x.txt": "{}"}, {"depends_on": ("w/*.txt",)}),
    "the file of a function": ("python:agent.py:answer", {"agent.py": FUNCTION + "x = {}\n"}, {}),
    "a module of a function": (
        "python:agent.py:answer",
        {"agent.py": f"import words\n{FUNCTION}", "words.py": "x = {}\n"},
        {},
    ),
}


@pytest.mark.parametrize(("spec", "files", "options"), AGENTS.values(), ids=AGENTS)
def test_another_file_is_another_agent_and_stops_a_run(tmp_path, spec, files, options):
    def fingerprint(word):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{}", word))
            path.chmod(0o755)
        agent = make_agent(spec, AgentOptions(folder=tmp_path, **options))
        return agent, agent.fingerprint

    agent, first = fingerprint("1")
    assert fingerprint("1")[1] == first
    assert fingerprint("2")[1] != first
    assert agent.find_change() is not None


def test_the_hash_of_a_forwarded_value_needs_the_salt_of_the_user(tmp_path, monkeypatch):
    (tmp_path / "run.sh").write_text("true\n")
    monkeypatch.setenv("VOICE", "low")
    found = set()
    for salt in ("0" * 64, "1" * 64):
        monkeypatch.setenv("SKILLSV_SALT", salt)
        options = AgentOptions(folder=tmp_path, forward_env=("VOICE",))
        found.add(make_agent("command:sh run.sh", options).fingerprint)
    assert len(found) == 2, "else anyone who has the ledger can try values"


VERIFIERS = {
    "a module of the verifier": (
        "python:check.py:score",
        {"check.py": "import words\ndef score(task, answer):\n    return 1\n", "words.py": "x = {}\n"},
    ),
    "a file of the task": ("contains", {"data.txt": "{}"}),
    "a script of the verifier": ("command:sh check.sh", {"check.sh": ". ./lib.sh\n", "lib.sh": "echo {}\n"}),
}


@pytest.mark.parametrize(("spec", "files"), VERIFIERS.values(), ids=VERIFIERS)
def test_another_file_is_another_task(tmp_path, spec, files):
    def digest(word):
        for name, text in files.items():
            (tmp_path / name).write_text(text.replace("{}", word))
        named = '["data.txt"]' if "data.txt" in files else "[]"
        line = f'{{"id": "t", "input": "?", "target": "a", "verifier": "{spec}", "files": {named}}}\n'
        (tmp_path / "tasks.jsonl").write_text(line)
        return load_tasks(tmp_path / "tasks.jsonl")[0].digest

    first = digest("1")
    assert digest("1") == first
    assert digest("2") != first
