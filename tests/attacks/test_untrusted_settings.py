"""Attacks by files that come with a skill: they must run no code and give no consent.

The attacker controls the skill folder and the files beside it: `skillsv.toml`, `evals.json`, programs. The user runs
ordinary commands with a key in the environment. The attacker's code writes a marker file, so the tests see if it ran.
"""

import json
import shlex

import pytest

from skillsv.cli import run
from skillsv.settings import FLAGS_ONLY, FREE, GUARDED, SETTING_NAMES

SKILL = "---\nname: tiny\ndescription: Words to say.\n---\n\n- Say `alpha`.\n- Say `beta`.\n"
MARKER_CODE = "from pathlib import Path\nimport os\nPath({marker!r}).write_text(os.environ.get('OPENAI_API_KEY', ''))\n"
SCORE = "def score(task, answer):\n    return 1.0 if task.target in answer else 0.0\n"
ANSWER = "def answer(skill, task, replicate):\n    return skill.text if skill else ''\n"


class Attack:
    """A skill folder with files of the attacker, and tasks and an agent of the user in another folder."""

    def __init__(self, place):
        self.place = place
        self.marker = place / "ran"
        self.skill = place / "cloned" / "tiny"
        (self.skill / "evals").mkdir(parents=True)
        (self.skill / "SKILL.md").write_text(SKILL)
        code = MARKER_CODE.format(marker=str(self.marker)) + SCORE + ANSWER
        for program in (self.skill.parent / "evil.py", self.skill / "evals" / "evil.py"):
            program.write_text(code)
        self.home = place / "mine"
        self.home.mkdir()
        (self.home / "agent.py").write_text(ANSWER)
        self.tasks = self.home / "tasks.jsonl"
        self.tasks.write_text("".join(f"{json.dumps(self.task(n))}\n" for n in range(4)))

    def task(self, number):
        return {"id": f"t{number}", "input": "?", "target": ["alpha", "beta"][number % 2]}

    @property
    def toml(self):
        return self.skill.parent / "skillsv.toml"

    @property
    def evals(self):
        return self.skill / "evals" / "evals.json"

    def write_evals(self, verifier):
        self.evals.write_text(json.dumps({"evals": [{**self.task(n), "verifier": verifier} for n in range(4)]}))

    def value(self, *flags, tasks=None):
        return run(
            ["value", str(self.skill), "--tasks", str(tasks or self.tasks), "--agent",
             f"python:{self.home}/agent.py:answer", "--run-dir", str(self.place / "run"), "--panel-b", "0", "--quiet", "--keep-going",
             *flags]
        )  # fmt: skip

    @property
    def nothing_happened(self):
        return not self.marker.exists() and not (self.place / "run").exists()


@pytest.fixture
def attack(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-user")
    attack = Attack(tmp_path)
    monkeypatch.chdir(attack.home)
    return attack


def test_every_setting_is_free_guarded_or_flag_only():
    assert sorted([*FREE, *GUARDED, *FLAGS_ONLY]) == sorted(SETTING_NAMES)
    running = {"verifier", "judge", "forward_env", "tools", "deliver", "skill_dir", "prices"}
    spending = {"max_rollouts", "max_tokens", "max_seconds", "budget_usd", "max_output_tokens", "turns", "attempts"}
    assert running | spending <= set(GUARDED)


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ('verifier = "python:evil.py:score"', "--verifier"),
        ('verifier = "command:python3 evil.py"', "--verifier"),
        ('judge = "python:evil.py:answer"', "--judge"),
        ('judge = "model:openai:dear"', "--judge"),
        ('forward-env = "OPENAI_API_KEY"', "--forward-env"),
        ("max-rollouts = 100000", "--max-rollouts"),
        ("budget-usd = 500", "--budget-usd"),
        ("max-output-tokens = 100000", "--max-output-tokens"),
        ('tools = "all"', "--tools"),
        ('prices = "free.toml"', "--prices"),
        ('skill_dir = ".claude"', "--skill-dir"),
        ("no-sandbox = true", "--no-sandbox"),
        ('base-url = "http://127.0.0.1:1/v1"', "--base-url"),
        ('engine = "ray:evil:6379"', "--engine"),
    ],
)
def test_settings_beside_the_skill_run_no_code_and_give_no_consent(attack, capsys, line, flag):
    attack.toml.write_text(f"{line}\n")
    assert attack.value("--yes") == 2
    assert attack.nothing_happened
    message = capsys.readouterr().err
    assert flag in message
    assert "flag" in message
    if flag[2:].replace("-", "_") in GUARDED:
        assert f"skillsv trust {attack.toml}" in message
        assert str(attack.place / "home" / ".config" / "skillsv" / "skillsv.toml") in message


def test_limit_in_a_file_beside_the_skill_is_not_consent(attack):
    attack.toml.write_text("max-rollouts = 100\n")
    assert attack.value() == 2
    assert attack.nothing_happened


def test_free_settings_are_read_and_flags_override_guarded_ones(attack, capsys):
    attack.toml.write_text('granularity = "section"\norders = 3\nverifier = "python:evil.py:score"\n')
    assert run(["plan", str(attack.skill), "--verifier", "contains", "--method", "chain", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["units"] == 2
    assert run(["compile", str(attack.skill)]) == 0
    assert attack.nothing_happened


def test_trusted_settings_are_read_until_the_file_changes(attack, capsys):
    (attack.home / "evil.py").write_text((attack.skill.parent / "evil.py").read_text())
    attack.toml.write_text('verifier = "python:evil.py:score"\nmax-rollouts = 60\n')
    assert run(["trust", str(attack.toml)]) == 2  # without a terminal, no user can answer
    assert attack.value() == 2
    assert run(["trust", str(attack.toml), "--yes"]) == 0
    shown = capsys.readouterr().err
    assert "verifier = 'python:evil.py:score'" in shown
    assert "max-rollouts = 60" in shown
    store = attack.place / "home" / ".config" / "skillsv" / "trusted.json"
    assert store.stat().st_mode & 0o777 == 0o600
    assert attack.nothing_happened
    assert attack.value() in {0, 4}
    assert attack.marker.exists()
    attack.marker.unlink()
    attack.toml.write_text(attack.toml.read_text() + " ")
    assert attack.value("--fresh") == 2
    assert "has changed since it was trusted" in capsys.readouterr().err
    assert not attack.marker.exists()


def test_copy_of_a_trusted_file_is_not_trusted(attack):
    elsewhere = attack.home / "skillsv.toml"
    elsewhere.write_text("max-rollouts = 60\n")
    assert run(["trust", str(elsewhere), "--yes"]) == 0
    attack.toml.write_text("max-rollouts = 60\n")
    assert attack.value() == 2
    assert attack.nothing_happened


def test_relative_configuration_folder_is_ignored(attack, monkeypatch):
    attack.toml.write_text("max-rollouts = 60\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(attack.skill.parent))
    assert run(["trust", str(attack.toml), "--yes"]) == 0
    monkeypatch.chdir(attack.skill.parent)
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    assert attack.value() == 2
    assert attack.nothing_happened


@pytest.mark.parametrize(
    "verifier",
    [
        "python:evil.py:score",
        " python:evil.py:score",
        "command:python3 evil.py",
        "command:touch {marker}",
        "judge:python:evals/evil.py:answer",
        "judge:command:touch {marker}",
        "harbor:{skill}",
    ],
)
@pytest.mark.parametrize("place", ["evals/evals.json", ""])
def test_untrusted_evals_of_a_skill_run_no_code(attack, capsys, verifier, place):
    (attack.skill / "tests").mkdir()
    (attack.skill / "tests" / "test.sh").write_text(f"touch {attack.marker}\n")
    attack.write_evals(verifier.format(marker=attack.marker, skill=attack.skill))
    assert attack.value("--yes", tasks=attack.skill / place) == 2
    assert attack.nothing_happened
    assert f"skillsv trust {attack.evals}" in capsys.readouterr().err


def test_harbor_tasks_inside_a_skill_run_only_if_trusted(attack):
    folder = attack.skill / "evals" / "harbor" / "one"
    (folder / "tests").mkdir(parents=True)
    (folder / "instruction.md").write_text("Say a word.\n")
    test = folder / "tests" / "test.sh"
    test.write_text(f"touch {attack.marker}\necho 1 > /logs/verifier/reward.txt\n")
    flags = ("--yes", "--max-rollouts", "4", "--panel-a", "1")
    assert attack.value(*flags, tasks=folder.parent) == 2
    assert attack.nothing_happened
    assert run(["trust", str(folder.parent), "--yes"]) == 0
    test.write_text(test.read_text() + "\n")
    assert attack.value(*flags, tasks=folder.parent) == 2
    assert attack.nothing_happened
    assert run(["trust", str(folder.parent), "--yes"]) == 0
    assert attack.value(*flags, tasks=folder.parent) != 2


def test_trusted_evals_are_read_until_they_or_their_code_change(attack, capsys):
    attack.write_evals("python:evil.py:score")
    assert run(["trust", str(attack.evals), "--yes"]) == 0
    assert "evil.py" in capsys.readouterr().err
    assert attack.nothing_happened
    assert attack.value("--max-rollouts", "60", tasks=attack.evals) in {0, 4}
    assert attack.marker.exists()
    attack.marker.unlink()
    code = attack.evals.with_name("evil.py")
    code.write_text(code.read_text() + "\n")
    assert attack.value("--max-rollouts", "60", "--fresh", tasks=attack.evals) == 2
    assert "evil.py has changed since it was trusted" in capsys.readouterr().err
    assert not attack.marker.exists()


def test_verifier_flag_that_could_mean_a_file_of_the_skill_is_refused(attack, capsys):
    attack.write_evals("python:evil.py:score")
    (attack.home / "evil.py").write_text(SCORE)
    flags = ("--verifier", "python:evil.py:score", "--max-rollouts", "60")
    assert attack.value(*flags, tasks=attack.evals) == 2
    assert "whole path" in capsys.readouterr().err
    assert attack.nothing_happened
    (attack.home / "evil.py").unlink()
    assert attack.value(*flags, tasks=attack.evals) in {0, 4}


def test_untrusted_program_that_makes_tasks_is_not_run(attack, capsys):
    pytest.importorskip("inspect_ai", reason="needs the extra inspect")
    program = attack.skill / "evals" / "evil.py"
    for command in ("plan", "value"):
        agent = ("--agent", "planted:x", "--yes") if command == "value" else ()
        assert run([command, str(attack.skill), "--tasks", f"inspect:{program}@score", *agent]) == 2
        assert f"skillsv trust {program}" in capsys.readouterr().err
    assert attack.nothing_happened


@pytest.mark.parametrize("question", ["agent", "verifier", "judge"])
def test_user_code_is_not_imported_before_consent(attack, capsys, question):
    evil = attack.skill.parent / "evil.py"
    agent = f"python:{evil if question == 'agent' else attack.home / 'agent.py'}:answer"
    verifier = {"verifier": f"python:{evil}:score", "judge": f"judge:python:{evil}:answer"}.get(question, "contains")
    flags = ["--tasks", str(attack.tasks), "--agent", agent, "--verifier", verifier]
    assert run(["value", str(attack.skill), *flags, "--run-dir", str(attack.place / "run")]) == 2
    assert "agree" in capsys.readouterr().err
    assert run(["plan", str(attack.skill), *flags]) == 0
    assert attack.nothing_happened


def test_commands_without_rollouts_import_no_user_code(attack):
    evil = attack.skill.parent / "evil.py"
    flags = ["--tasks", str(attack.tasks), "--agent", f"python:{evil}:answer", "--verifier", f"python:{evil}:score"]
    folder = str(attack.place / "run")
    code = run(["value", str(attack.skill), *flags, "--run-dir", folder, "--max-rollouts", "60", "--quiet"])
    assert code in {0, 4}
    attack.marker.unlink()
    for command in ("status", "estimate", "report"):
        assert run([command, folder]) == 0
    for command in ("lint", "compile", "orders"):
        assert run([command, str(attack.skill)]) in {0, 3}
    assert run(["confirm", folder, "--tasks", str(attack.tasks)]) == 2
    assert not attack.marker.exists()


def test_code_that_fails_to_load_leaves_the_records_unchanged(attack, capsys):
    assert attack.value("--max-rollouts", "60") in {0, 4}
    before = (attack.place / "run" / "records.jsonl").read_bytes()
    (attack.home / "check.py").write_text(f"raise ValueError('broken check')\n{SCORE}")
    broken = ("--verifier", f"python:{attack.home}/check.py:score", "--max-rollouts", "60", "--fresh")
    assert attack.value(*broken) == 2
    assert "broken check" in capsys.readouterr().err
    assert (attack.place / "run" / "records.jsonl").read_bytes() == before


def test_user_file_may_set_everything_but_flag_only_settings(attack, capsys):
    own = attack.place / "home" / ".config" / "skillsv" / "skillsv.toml"
    own.parent.mkdir(parents=True)
    program = attack.home / "check.sh"
    program.write_text("echo 1\n")
    own.write_text(f"verifier = {json.dumps(f'command:bash {shlex.quote(str(program))}')}\nmax-rollouts = 30\n")
    assert attack.value("--json") in {0, 4}
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert settings["verifier"].startswith("command:bash")
    own.write_text('engine = "ray"\n')
    assert attack.value() == 2
    assert "never taken from a file" in capsys.readouterr().err
