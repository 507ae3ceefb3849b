"""`value` and `load_run`: results, failures of the caller's functions, consent, resuming, event loops."""

import asyncio
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import skillsv as sv
from skillsv.cli.app import run as run_command
from skillsv.errors import AgentFailure, BudgetReached, RecordsError, SettingsError, Unavailable

LIMITS = {"max_rollouts": 600, "panel_b": 0}


def test_a_function_values_a_text(skill, tasks, answer):
    run = sv.value(skill, tasks=tasks, agent=answer, **LIMITS)
    values = {unit.text.strip(): unit.net.value for unit in run.valuation.units}
    assert values == {"- red": pytest.approx(8 / 24), "- green": pytest.approx(8 / 24), "- a remark": 0.0}
    assert run.complete
    assert run.valuation.anchors.full.value == pytest.approx(16 / 24)
    assert run.valuation.closure.ratio == pytest.approx(1)
    assert run.skill.name == "colours"


@pytest.mark.heavy
def test_the_same_call_again_pays_for_nothing(skill, tasks, answer, tmp_path):
    first = sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", **LIMITS)
    calls = []

    def unpaid(skill, task):
        calls.append(task.id)
        return "no"

    again = sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", **LIMITS)
    assert first.valuation.rollouts.spent > 0
    assert again.valuation.units == first.valuation.units
    assert again.valuation.rollouts.spent == 0
    sv.value(skill, tasks=tasks, agent=unpaid, run_dir=tmp_path / "run", keep_going=True, **LIMITS)
    assert calls, "another function is another agent, so its rollouts are its own"


@pytest.mark.heavy
def test_the_version_is_part_of_the_identity_of_a_function(skill, tasks, answer, tmp_path):
    sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", version="1", **LIMITS)
    same = sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", version="1", **LIMITS)
    other = sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", version="2", **LIMITS)
    assert same.valuation.rollouts.spent == 0
    assert other.valuation.rollouts.spent > 0


@pytest.mark.heavy
def test_it_works_while_an_event_loop_runs(skill, tasks, answer):
    async def notebook():
        return sv.value(skill, tasks=tasks, agent=answer, **LIMITS), threading.current_thread()

    run, thread = asyncio.run(notebook())
    assert run.complete
    assert thread is threading.main_thread()


def test_avalue_runs_in_the_loop_of_the_caller(skill, tasks):
    threads = set()

    async def answer(skill, task):
        threads.add(threading.get_ident())
        await asyncio.sleep(0)
        return "yes" if skill and task.input in skill.text else "no"

    run = asyncio.run(sv.avalue(skill, tasks=tasks, agent=answer, **LIMITS))
    assert run.complete
    assert threads == {threading.get_ident()}


@pytest.mark.heavy
def test_a_cancelled_run_keeps_its_rollouts(skill, tasks, tmp_path):
    paid = []

    async def main():
        async def answer(skill, task):
            paid.append(task.id)
            if len(paid) == 10:
                running.cancel()
            await asyncio.sleep(0)
            return "yes" if skill and task.input in skill.text else "no"

        running = asyncio.ensure_future(
            sv.avalue(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", jobs=1, version="1", **LIMITS)
        )
        with pytest.raises(asyncio.CancelledError):
            await running
        before = len(paid)
        run = await sv.avalue(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", jobs=1, version="1", **LIMITS)
        return before, run

    before, run = asyncio.run(main())
    assert run.valuation.rollouts.spent + before - 1 == len(paid) - 1 or run.valuation.rollouts.spent < len(paid)
    assert run.complete


@pytest.mark.heavy
def test_a_run_without_a_folder_is_temporary_and_says_so(skill, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import skillsv as sv\n"
        "plan = sv.plan('# Facts\\n\\n- one\\n', evaluate=lambda text, word: float(word in text),\n"
        "    examples=['one', 'two'] * 6, max_rollouts=100)\n"
        "assert any('temporary folder' in note for note in plan.notes)\n"
        "run = sv.value(plan)\n"
        "assert (run.folder / 'ledger.sqlite').is_file()\n"
        "print(run.folder)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()


# Failures of the caller's functions: named, never a score of 0.


def failing_agent(skill, task):
    raise ValueError("out of colours")


def wrong_type_agent(skill, task):
    return 42


async def hanging_agent(skill, task):
    await asyncio.sleep(3600)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (failing_agent, "ValueError: out of colours"),
        (wrong_type_agent, "returned int instead of text or an Outcome"),
        (hanging_agent, r"0\.05 s"),
    ],
)
def test_an_agent_that_always_fails_ends_the_run(skill, tasks, agent, message):
    with pytest.raises(Unavailable, match=message):
        sv.value(skill, tasks=tasks, agent=agent, timeout=0.05, attempts=1, jobs=2, **LIMITS)


@pytest.mark.heavy
def test_a_failure_on_one_task_is_missing_and_never_a_zero(skill, tasks):
    def answer(skill, task):
        if task.id == "t3":
            raise AgentFailure("the service is away", kind="overload")
        return "yes" if skill and task.input in skill.text else "no"

    run = sv.value(skill, tasks=tasks, agent=answer, attempts=1, **LIMITS)
    assert run.valuation.rollouts.failed > 0
    assert any("t3" in note and "never scored 0" in note for note in run.notes)
    # 15 of the 23 tasks that could be scored are solved: a zero for t3 would give 15 of 24.
    assert run.valuation.anchors.full.value == pytest.approx(15 / 23)


def test_a_verifier_that_returns_no_score_is_a_failure(skill, tasks):
    with pytest.raises(Unavailable, match="instead of a score from 0 to 1"):
        sv.value(
            skill,
            tasks=[{key: value for key, value in task.items() if key != "target"} for task in tasks],
            agent=lambda skill, task: "x",
            verifier=lambda task, answer: 7.5,
            attempts=1,
            **LIMITS,
        )


@pytest.mark.heavy
def test_prints_of_a_function_become_the_transcript(skill, tasks, tmp_path, capsys):
    def answer(skill, task):
        print(f"thinking about {task.input}")  # noqa: T201 - what is tested
        return "yes" if skill and task.input in skill.text else "no"

    real = sys.stdout
    run = sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", **LIMITS)
    assert capsys.readouterr().out == ""
    assert sys.stdout is real
    assert "thinking about red" in run.page()


def test_a_function_that_takes_one_argument_is_refused_before_the_first_rollout(skill, tasks):
    def one(skill):
        return "x"

    with pytest.raises(SettingsError, match=r"def one\(skill, task\)"):
        sv.value(skill, tasks=tasks, agent=one, **LIMITS)


def test_a_limit_that_ends_the_run_returns_the_partial_result(skill, tasks, answer):
    run = sv.value(skill, tasks=tasks, agent=answer, method="chain", orders=30, max_rollouts=150)
    assert isinstance(run.error, BudgetReached)
    assert not run.complete
    assert run.valuation.provisional


# A later program, and the command line.


@pytest.mark.heavy
def test_a_loaded_run_has_the_same_values(skill, tasks, answer, tmp_path):
    run = sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", **LIMITS)
    loaded = sv.load_run(tmp_path / "run")
    assert loaded.valuation.units == run.valuation.units
    assert loaded.skill.path is None
    wide = sv.load_run(tmp_path / "run", level=0.999)
    assert wide.valuation["colours/bullet-1"].net.low < loaded.valuation["colours/bullet-1"].net.low


@pytest.mark.heavy
def test_commands_read_such_a_run_and_refuse_to_run_its_agent(skill, tasks, answer, tmp_path, capsys):
    sv.value(skill, tasks=tasks, agent=answer, run_dir=tmp_path / "run", max_rollouts=300, panel_b=0.5)
    assert run_command(["estimate", str(tmp_path / "run")]) == 0
    assert run_command(["prune", str(tmp_path / "run"), "-o", str(tmp_path / "short"), "--yes"]) == 0
    capsys.readouterr()
    assert run_command(["confirm", str(tmp_path / "run"), "--yes"]) == RecordsError.exit_code
    assert "skillsv.load_run" in capsys.readouterr().err


def test_the_command_line_and_the_api_give_the_same_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colours.md").write_text("# Colours\n\n- red\n- green\n")
    (tmp_path / "agent.py").write_text(
        "def answer(skill, task):\n    return 'yes' if skill and task.input in skill.text else 'no'\n"
    )
    lines = [f'{{"id": "{index}", "input": "{("red", "blue")[index % 2]}", "target": "yes"}}' for index in range(12)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines))
    arguments = ["--tasks", "tasks.jsonl", "--agent", "python:agent.py:answer", "--max-rollouts", "200", "--quiet"]
    assert run_command(["value", "colours.md", *arguments, "--run-dir", "run"]) == 0
    stored = sv.load_run("run")
    run = sv.value("colours.md", tasks="tasks.jsonl", agent="python:agent.py:answer", max_rollouts=200, run_dir="run")
    assert run.valuation.rollouts.spent == 0
    assert run.valuation.units == stored.valuation.units


def test_a_plan_and_other_arguments_contradict(skill, tasks, answer):
    plan = sv.plan(skill, tasks=tasks, agent=answer, **LIMITS)
    with pytest.raises(SettingsError, match="a plan holds its own"):
        sv.value(plan, seed=3)


@pytest.mark.heavy
def test_progress_can_be_a_function(skill, tasks, answer):
    events = []
    sv.value(skill, tasks=tasks, agent=answer, progress=events.append, **LIMITS)
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("Note") < kinds.index("RolloutFinished"), "the forecast comes before the first rollout"
    assert "Forecast" in " ".join(event.message for event in events if type(event).__name__ == "Note")


def test_a_partial_application_has_the_identity_of_its_arguments(skill, tasks):
    def answer(word, skill, task):
        return word if skill and task.input in skill.text else "no"

    plans = [sv.plan(skill, tasks=tasks, agent=partial(answer, word), **LIMITS) for word in ("yes", "no", "yes")]
    prints = [plan.prepared.agent.fingerprint for plan in plans]
    assert prints[0] == prints[2] != prints[1]
