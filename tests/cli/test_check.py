"""`skillsv check` in scratch Git repositories, on agents whose answers are known."""

import json
import sqlite3
import subprocess
from pathlib import Path

import jsonschema
import pytest

from skillsv.cli import run

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

def deaf(skill, task):
    return "alpha beta"

def priced(skill, task):
    from skillsv import Outcome
    from skillsv.model.rollout import Usage
    return Outcome(answer=answer(skill, task), usage=Usage(usd=0.01))

def broken(skill, task):
    raise ValueError("no connection")
"""


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", *words],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


def commit(folder, message="change"):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one skill on `main`, checked out on a branch; tasks and agent lie beside it."""
    folder = tmp_path / "repo"
    (folder / "skills" / "words").mkdir(parents=True)
    (folder / "skills" / "words" / "SKILL.md").write_text(SKILL)
    (folder / "README.md").write_text("Skills.\n")
    (tmp_path / "agent.py").write_text(AGENT)
    lines = [
        {"id": f"t{n:03d}", "input": "?", "target": ["alpha", "beta"][n % 2], "verifier": "contains"} for n in range(70)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    git(folder, "checkout", "-qb", "change")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return folder


def edit(folder, old, new="", file="skills/words/SKILL.md"):
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    commit(folder)


def check(folder, *flags, agent="answer", rollouts="170", tasks=None):
    """The exit code and the document of a check."""
    place = folder.parent
    words = [
        "check", "--base", "main", "--tasks", tasks or place / "tasks.jsonl", "--agent", f"python:{place}/agent.py:{agent}",
        "--max-rollouts", rollouts, "--quiet", "--cache-dir", place / "cache", "-o", place / "out.json", *flags,
    ]  # fmt: skip
    (place / "out.json").unlink(missing_ok=True)
    code = run([str(word) for word in words])
    written = place / "out.json"
    return code, json.loads(written.read_text()) if written.is_file() else None


def paid(folder):
    """The rollouts that the cache holds."""
    total = 0
    for ledger in (folder.parent / "cache").glob("*/ledger.sqlite"):
        with sqlite3.connect(ledger) as connection:
            total += connection.execute("select count(*) from rollout").fetchone()[0]
    return total


@pytest.mark.heavy
def test_deleting_a_dead_line_is_no_worse(repository):
    edit(repository, DEAD)
    code, result = check(repository)
    assert code == 0
    (skill,) = result["skills"]
    assert (result["outcome"], skill["outcome"], skill["path"]) == ("no worse", "no worse", "skills/words")
    assert skill["tokens_after"] < skill["tokens_before"]
    assert skill["units_after"] == skill["units_before"] - 1
    assert skill["proof"]["lost"] == []


def test_deleting_a_needed_line_is_worse_and_names_line_and_task(repository, capsys):
    edit(repository, NEEDED)
    code, result = check(repository)
    assert code == 3
    (skill,) = result["skills"]
    assert skill["outcome"] == "worse"
    assert [(one["kind"], one["base_lines"], one["text"]) for one in skill["edits"]] == [
        ("deleted", [9, 9], NEEDED.strip())
    ]
    lost = [row["task"] for row in skill["proof"]["lost"]]
    assert lost
    assert all(int(task[1:]) % 2 == 1 for task in lost)
    printed = capsys.readouterr().out
    assert "Deleted line 9 of the base in SKILL.md: - Say `beta`" in printed
    assert f"Task {lost[0]}: score 1 before, 0 now." in printed


def test_a_change_without_a_skill_costs_nothing(repository, capsys):
    (repository / "README.md").write_text("Other words.\n")
    commit(repository)
    code, result = check(repository)
    assert (code, result["skills"], result["outcome"]) == (0, [], None)
    assert result["rollouts"]["new"] == paid(repository) == 0
    assert "No skill changed." in capsys.readouterr().out


@pytest.mark.heavy
def test_the_second_check_of_a_commit_pays_for_nothing(repository):
    edit(repository, DEAD)
    first = check(repository)[1]
    held = paid(repository)
    assert first["rollouts"]["new"] == held > 0
    code, second = check(repository)
    assert code == 0
    assert second["rollouts"]["new"] == 0
    assert paid(repository) == held
    assert second["skills"] == first["skills"]


def test_a_new_skill_is_linted_and_counted_only(repository):
    other = repository / "skills" / "other"
    other.mkdir()
    (other / "SKILL.md").write_text("---\nname: other\ndescription: Other words.\n---\n\nSee [notes](missing.md).\n")
    commit(repository)
    code, result = check(repository)
    (skill,) = result["skills"]
    assert (skill["status"], skill["outcome"], skill["tokens_before"]) == ("new", None, None)
    assert result["rollouts"]["new"] == 0
    assert [finding["code"] for finding in skill["findings"] if finding["new"]]
    assert code == int(any(finding["severity"] == "error" for finding in skill["findings"]))


def test_a_new_skill_is_compared_with_no_skill_where_it_is_asked_for(repository):
    other = repository / "skills" / "other"
    other.mkdir()
    (other / "SKILL.md").write_text(SKILL.replace("name: words", "name: other"))
    commit(repository)
    code, result = check(repository, "--include-new")
    (skill,) = result["skills"]
    assert (code, skill["status"], skill["outcome"]) == (0, "new", "no worse")
    assert skill["proof"]["old"]["value"] == 0
    assert skill["proof"]["new"]["value"] == 1


def test_a_deleted_skill_is_named(repository):
    (repository / "skills" / "words" / "SKILL.md").unlink()
    commit(repository)
    code, result = check(repository)
    (skill,) = result["skills"]
    assert (code, skill["status"], skill["tokens_after"], skill["outcome"]) == (0, "deleted", None, None)


def test_only_new_errors_of_lint_fail(repository):
    git(repository, "checkout", "-q", "main")
    edit(repository, "description: Words to say.\n", "description: ''\n")
    git(repository, "checkout", "-qB", "change")
    edit(repository, DEAD)
    words = ["check", "--base", "main", "-o", str(repository.parent / "out.json")]
    assert run(words) == 0
    (skill,) = json.loads((repository.parent / "out.json").read_text())["skills"]
    errors = [finding for finding in skill["findings"] if finding["severity"] == "error"]
    assert errors
    assert not any(finding["new"] for finding in errors)
    edit(repository, "name: words\n", "name: ''\n")
    assert run(words) == 1


def test_what_agents_do_not_receive_is_no_change(repository):
    evals = repository / "skills" / "words" / "evals"
    evals.mkdir()
    (evals / "tasks.jsonl").write_text("{}\n")
    commit(repository)
    assert check(repository)[1]["skills"] == []


def test_changes_of_the_base_branch_are_not_blamed_on_the_change(repository):
    (repository / "README.md").write_text("Other words.\n")
    commit(repository)
    git(repository, "checkout", "-q", "main")
    edit(repository, NEEDED)
    git(repository, "checkout", "-q", "change")
    code, result = check(repository)
    assert (code, result["skills"]) == (0, [])


def test_skills_in_hidden_folders_of_coding_agents_are_found(repository):
    folder = repository / ".claude" / "skills" / "hidden"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    assert [skill["path"] for skill in check(repository)[1]["skills"]] == [".claude/skills/hidden"]


def test_a_single_markdown_file_is_checked(repository):
    (repository / "AGENTS.md").write_text(SKILL)
    commit(repository)
    git(repository, "checkout", "-qB", "main")
    git(repository, "checkout", "-qB", "change")
    edit(repository, NEEDED, file="AGENTS.md")
    code, result = check(repository, "AGENTS.md")
    (skill,) = result["skills"]
    assert (code, skill["path"], skill["folder"], skill["outcome"]) == (3, "AGENTS.md", ".", "worse")


@pytest.mark.heavy
def test_a_skill_without_a_difference_ends_with_5(repository, capsys):
    edit(repository, DEAD)
    code, result = check(repository, agent="deaf")
    assert code == 5
    assert "made no difference" in result["skills"][0]["error"]
    assert check(repository, "--keep-going", agent="deaf")[0] == 0


def test_an_outage_is_not_a_wrong_answer(repository):
    edit(repository, NEEDED)
    code, result = check(repository, "--attempts", "1", agent="broken")
    (skill,) = result["skills"]
    assert code == 5
    assert (skill["outcome"], skill["proof"]) == ("not shown", None)
    assert "no connection" in skill["error"]


@pytest.mark.heavy
def test_a_limit_of_money_ends_with_4_and_keeps_what_was_paid(repository):
    edit(repository, DEAD)
    code, result = check(repository, "--budget-usd", "0.3", "-j", "1", agent="priced")
    (skill,) = result["skills"]
    assert (code, skill["outcome"]) == (4, "not shown")
    assert 0.2 < result["rollouts"]["usd"] < 0.5
    assert paid(repository) == result["rollouts"]["new"] > 0
    code, result = check(repository, "--budget-usd", "5", agent="priced")
    assert (code, result["outcome"]) == (0, "no worse")
    assert result["rollouts"]["reused"] > 0


def test_too_few_tasks_show_nothing_and_are_said_before(repository, capsys):
    edit(repository, DEAD)
    code, result = check(repository, rollouts="40")
    assert (code, result["outcome"]) == (3, "not shown")
    assert check(repository, "--fail-on", "worse", rollouts="40")[0] == 0
    said = "20 tasks show that less than 5 points are lost only where scores rise; without any change it takes 66 tasks"
    assert said in capsys.readouterr().err


def test_what_few_tasks_are_said_to_need_holds_where_scores_rise(repository, capsys):
    edit(repository, "Speak of `gamma`", "Say `gamma`")
    tasks = repository.parent / "tasks.jsonl"
    tasks.write_text(tasks.read_text().replace("beta", "gamma"))
    code, result = check(repository, rollouts="100")
    assert (code, result["outcome"], result["skills"][0]["proof"]["tasks"]) == (0, "no worse", 23)  # at the second look
    error = capsys.readouterr().err
    assert "cannot" not in error
    assert "45 tasks show that less than 5 points are lost only where scores rise" in error


@pytest.mark.heavy
def test_few_tasks_run_several_times_show_it_for_these_tasks(repository, capsys):
    tasks = repository.parent / "tasks.jsonl"
    tasks.write_text("".join(tasks.read_text().splitlines(keepends=True)[:20]))
    edit(repository, DEAD)
    assert check(repository)[1]["outcome"] == "not shown"
    code, result = check(repository, "--same-tasks")
    assert (code, result["outcome"], result["claim"]) == (0, "no worse", "these tasks")
    assert result["skills"][0]["proof"]["tasks"] == 20
    assert "on these tasks the score drops by less than 5 points" in capsys.readouterr().out


def test_a_limit_that_is_too_small_for_all_skills_is_refused(repository, capsys):
    for name in ("one", "two"):
        (repository / "skills" / name).mkdir()
        (repository / "skills" / name / "SKILL.md").write_text(SKILL)
    commit(repository)
    code, result = check(repository, "--include-new", rollouts="3")
    assert (code, result) == (2, None)
    assert "too small for 2 skills" in capsys.readouterr().err
    code, result = check(repository, "--include-new", rollouts="41")
    assert result["rollouts"]["budget"] <= 41
    assert len(result["skills"]) == 2


@pytest.mark.heavy
def test_changed_tasks_are_said(repository):
    tasks = repository / "tasks.jsonl"
    tasks.write_text((repository.parent / "tasks.jsonl").read_text())
    edit(repository, DEAD)
    notes = check(repository, tasks=tasks)[1]["skills"][0]["notes"]
    assert notes == ["The tasks changed, too: both versions run on the new ones."]


def test_each_skill_may_have_its_own_tasks(repository):
    evals = repository / "skills" / "words" / "evals"
    evals.mkdir()
    (evals / "tasks.jsonl").write_text((repository.parent / "tasks.jsonl").read_text())
    edit(repository, NEEDED)
    assert check(repository, tasks="{skill}/evals/tasks.jsonl")[1]["outcome"] == "worse"


def test_a_key_in_an_error_is_not_shown(repository, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecretverysecret")
    agent = repository.parent / "agent.py"
    agent.write_text("def answer(skill, task):\n    raise ValueError('key sk-verysecretverysecret')\n")
    edit(repository, DEAD)
    code, result = check(repository, "--attempts", "1")
    assert code == 5
    assert "key" in result["skills"][0]["error"]
    assert "sk-verysecret" not in (repository.parent / "out.json").read_text()


def test_nothing_is_spent_without_consent(repository, capsys):
    edit(repository, DEAD)
    place = repository.parent
    words = ["check", "--base", "main", "--tasks", f"{place}/tasks.jsonl", "--agent", f"python:{place}/agent.py:answer"]
    assert run(words) == 2
    said = capsys.readouterr().err
    assert "Forecast: at most 800 rollouts for 1 skill; tokens unknown, cost unknown, time unknown." in said
    assert "nobody is there to agree" in said
    assert not (repository / ".skillsv").exists()


def test_an_untrusted_file_cannot_name_tasks_and_agent(repository, capsys):
    place = repository.parent
    (repository / "skills" / "skillsv.toml").write_text(
        f'[check]\ntasks = "../../tasks.jsonl"\nagent = "python:{place}/agent.py:answer"\n'
    )
    edit(repository, DEAD)
    words = ["check", "--base", "main", "--quiet", "--cache-dir", f"{place}/cache", "--max-rollouts", "170"]
    assert run(words) == 2
    assert "not trusted" in capsys.readouterr().err
    assert paid(repository) == 0
    assert run(["trust", "skills/skillsv.toml", "--yes"]) == 0
    assert "check.agent = 'python:" in capsys.readouterr().err
    assert run(words) == 0
    assert "No worse" in capsys.readouterr().out


@pytest.mark.parametrize(("base", "said"), [("nowhere", "no commit 'nowhere'"), ("--help", "--help")])
def test_a_base_that_is_no_commit_is_refused(repository, base, said, capsys):
    assert run(["check", f"--base={base}"]) == 2
    assert said in capsys.readouterr().err


def test_outside_a_repository_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert run(["check"]) == 2
    assert "no Git repository" in capsys.readouterr().err


def test_the_json_has_the_published_schema(repository):
    schema = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "skillsv.check-1.json").read_text())
    edit(repository, NEEDED)
    document = check(repository)[1]
    jsonschema.validate(document, schema)
    document["outcome"] = "better"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_all_result_files_are_written(repository):
    edit(repository, NEEDED)
    place = repository.parent
    (place / "summary.md").write_text("Before.\n")
    code, _ = check(
        repository, "--summary", place / "summary.md", "--sarif", place / "check.sarif", "--junit", place / "check.xml"
    )
    assert code == 3
    summary = (place / "summary.md").read_text()
    assert summary.startswith("Before.\n## Skill check\n")
    assert "| worse |" in summary
    log = json.loads((place / "check.sarif").read_text())
    (verdict,) = [row for row in log["runs"][0]["results"] if row["ruleId"] == "skill-worse"]
    assert verdict["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "skills/words/SKILL.md"
    assert 'type="worse"' in (place / "check.xml").read_text()


@pytest.mark.heavy
def test_sarif_shows_the_verdicts_of_the_last_run_on_units_that_are_still_there(repository):
    place = repository.parent
    words = ["value", "skills/words", "--tasks", f"{place}/tasks.jsonl", "--agent", f"python:{place}/agent.py:answer"]
    assert run([*words, "--max-rollouts", "400", "--panel-a", "24", "--quiet"]) in {0, 4}
    edit(repository, "# Words\n", "# Words\n\n- One more line that says nothing at all to anybody.\n")
    assert run(["check", "--base", "main", "--sarif", f"{place}/check.sarif"]) == 0
    log = json.loads((place / "check.sarif").read_text())
    rows = [row for row in log["runs"][0]["results"] if row["ruleId"].startswith("unit-")]
    assert rows
    assert all(row["level"] == "note" for row in rows)
    text = (repository / "skills" / "words" / "SKILL.md").read_text().splitlines()
    lines = [text[row["locations"][0]["physicalLocation"]["region"]["startLine"] - 1] for row in rows]
    assert DEAD.strip() in lines
    assert not any("One more line" in line for line in lines)


NOISY = r"""
import hashlib
import re

def answer(skill, task, replicate):
    words = " ".join(re.findall(r"Say `(\w+)`", skill.text)) if skill else ""
    noise = hashlib.sha256(f"SEED {skill.text if skill else ''} {task.id} {replicate}".encode()).digest()[0]
    return words if noise >= 26 else ""
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("every", "expected"), [(0, "no worse"), (20, None), (2, "worse")], ids=["dead", "at-the-border", "needed"]
)
def test_twenty_runs_with_other_noise_give_one_verdict_or_none(repository, every, expected):
    """One answer in ten is lost by chance. The deleted line is needed for one task in `every`."""
    place = repository.parent
    lines = [
        {
            "id": f"t{n:03d}",
            "input": "?",
            "target": "beta" if every and n % every == 0 else "alpha",
            "verifier": "contains",
        }
        for n in range(120)
    ]
    (place / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    edit(repository, NEEDED)
    outcomes = []
    for seed in range(20):
        (place / "agent.py").write_text(NOISY.replace("SEED", str(seed)))
        _, result = check(repository, "--seed", seed, "--keep-going", rollouts="600")
        outcomes.append(result["outcome"])
    print(every, {name: outcomes.count(name) for name in set(outcomes)})  # noqa: T201 - counts for the reader
    assert not {"worse", "no worse"} <= set(outcomes)
    if expected is not None:
        assert set(outcomes) <= {expected, "not shown"}
        assert expected in outcomes


@pytest.mark.heavy
def test_a_skill_that_grows_above_the_limit_of_tokens_fails(repository, capsys):
    edit(repository, "# Words\n", "# Words\n\n- One more line that says nothing at all to anybody.\n")
    assert run(["check", "--base", "main", "--token-limit", "60"]) == 3
    assert "It has 74 tokens; the limit is 60." in capsys.readouterr().out
    assert run(["check", "--base", "main", "--token-limit", "80"]) == 0
    git(repository, "checkout", "-qB", "main")
    edit(repository, DEAD)
    assert run(["check", "--base", "HEAD~1", "--token-limit", "30"]) == 0  # too long, and shorter than before


def test_before_the_first_commit_every_skill_is_new(repository):
    git(repository, "checkout", "-q", "--orphan", "fresh")
    assert run(["check", "--base", "HEAD", "-o", str(repository.parent / "out.json")]) == 0
    result = json.loads((repository.parent / "out.json").read_text())
    assert [skill["status"] for skill in result["skills"]] == ["new"]
    assert result["commit"] == ""
