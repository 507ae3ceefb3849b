"""Tasks that every agent would receive with the skill are refused."""

from __future__ import annotations

import pytest

from skillsv.cli.app import run
from skillsv.compiler import compile_skill
from skillsv.errors import TaskError
from skillsv.tasks import refuse_delivered_tasks

TASKS = '{"id": "a", "input": "How long is a return possible?", "target": "30 days"}\n'


@pytest.fixture
def skill(tmp_path):
    folder = tmp_path / "returns"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: returns\ndescription: Returns.\n---\n\n- Thirty days.\n")
    return folder


def refuse(skill, tasks):
    refuse_delivered_tasks(compile_skill(skill).skill, tasks)


@pytest.mark.parametrize("name", ["tasks.jsonl", "references/tasks.jsonl", "evals.json"])
def test_task_file_among_the_files_of_the_skill_is_refused(skill, name):
    tasks = skill / name
    tasks.parent.mkdir(exist_ok=True)
    tasks.write_text(TASKS)
    with pytest.raises(TaskError, match=f"The file {name} of the skill holds these tasks"):
        refuse(skill, tasks)


def test_task_file_that_the_skill_holds_a_copy_of_is_refused(skill, tmp_path):
    (skill / "examples.jsonl").write_text(TASKS)
    (tmp_path / "tasks.jsonl").write_text(TASKS)
    with pytest.raises(TaskError, match=r"The file examples\.jsonl of the skill holds these tasks"):
        refuse(skill, tmp_path / "tasks.jsonl")


MORE = '{"id": "b", "input": "Who pays?", "target": "you"}\n'


@pytest.mark.parametrize(
    ("held", "tasks", "words"),
    [
        (TASKS, f"{TASKS}\n", "holds these tasks"),
        (f"\ufeff{TASKS}", TASKS.strip(), "holds these tasks"),
        (TASKS + MORE, MORE, "holds these tasks"),
        (f"# Examples\n\n{TASKS}", TASKS, "holds these tasks"),
        (TASKS, TASKS + MORE, "holds some of these tasks"),
        (
            '{"evals": [\n{"id": 1, "prompt": "x"}]}',
            '{"evals": [\n\n  {"id": 1, "prompt": "x"}]}\n',
            "holds these tasks",
        ),
    ],
)
def test_a_file_of_the_skill_with_the_same_tasks_in_other_lines_is_refused(skill, tmp_path, held, tasks, words):
    (skill / "examples.txt").write_text(held)
    (tmp_path / "tasks.jsonl").write_text(tasks)
    with pytest.raises(TaskError, match=rf"The file examples\.txt of the skill {words}"):
        refuse(skill, tmp_path / "tasks.jsonl")


@pytest.mark.parametrize(
    "held",
    [
        "{}\n", "[]\n", "{\n", "}\n", '{"id": "a"}\n', '{"id": "", "input": ""}\n', "{broken\n", MORE,
        '{"id": "a", "input": "How long is a return possible?"}\n', TASKS.replace("30", "60"), "",
    ],
)  # fmt: skip
def test_a_file_of_the_skill_with_common_lines_or_other_records_is_taken(skill, tmp_path, held):
    (skill / "examples.jsonl").write_text(held)
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(TASKS + '{"id": "c", "input": "x"}\n{}\n{\n}\n')
    refuse(skill, tasks)


def test_folder_with_its_own_tasks_beside_the_main_file_is_refused(skill):
    (skill / "evals.json").write_text('{"evals": [{"id": 1, "prompt": "x"}]}')
    with pytest.raises(TaskError, match=r"The file evals\.json of the skill"):
        refuse(skill, skill)


def test_harbor_tasks_inside_the_skill_are_refused(skill):
    (skill / "checks" / "one").mkdir(parents=True)
    (skill / "checks" / "one" / "instruction.md").write_text("Do it.")
    with pytest.raises(TaskError, match=r"checks/one/instruction\.md"):
        refuse(skill, skill / "checks")


def test_tasks_in_evals_or_beside_the_skill_are_taken(skill, tmp_path):
    (skill / "evals").mkdir()
    for tasks in (skill / "evals" / "tasks.jsonl", tmp_path / "tasks.jsonl"):
        tasks.write_text(TASKS)
        refuse(skill, tasks)


def test_folder_of_harbor_tasks_may_hold_the_skill(skill, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "instruction.md").write_text("Do it.")
    refuse(skill, tmp_path)


@pytest.mark.parametrize("command", ["value", "shrink"])
def test_no_rollout_is_paid_for_where_the_answers_are_delivered(skill, tmp_path, capsys, command):
    (skill / "tasks.jsonl").write_text(TASKS)
    (tmp_path / "agent.py").write_text("def run(skill, task):\n    raise SystemExit('was called')\n")
    agent, folder = f"python:{tmp_path}/agent.py:run", tmp_path / "run"
    words = f"{command} {skill} --tasks {skill}/tasks.jsonl --agent {agent} --max-rollouts 100 --run-dir {folder}"
    assert run(words.split()) == 2
    assert "every agent would get the answers" in capsys.readouterr().err
    assert not folder.exists()
