"""A request to stop that comes while one session of a command ends or the next begins."""

import re
import signal

import anyio
import pytest

from skillsv.api.inputs import Inputs
from skillsv.api.matrix import run_matrix_plan
from skillsv.api.matrix_plan import make_matrix_plan
from skillsv.api.shrink import run_shrink_plan
from skillsv.api.shrink_plan import ProofArguments, make_shrink_plan
from skillsv.errors import Interrupted
from skillsv.model.events import RolloutFinished, RunFinished
from skillsv.pipeline.shrink_preparation import ShrinkOptions
from skillsv.rollout import RunFolder, Stop

SKILL = "# Rules\n\n" + "".join(f"- [rule-{number:02d}] says what to do.\n" for number in range(1, 9))
TASKS = [{"id": f"t{number}", "input": "?", "target": "solved", "verifier": "exact"} for number in range(90)]


def agent(skill, task):
    rule = f"rule-{int(task.id[1:]) % 2 + 1:02d}"
    return "solved" if skill and rule in set(re.findall(r"rule-\d+", skill.text)) else "no"


def other(skill, task):
    return agent(skill, task)


def shrink(folder, listener):
    plan = make_shrink_plan(
        SKILL, Inputs(tasks=TASKS, agent=agent, version="1"), {"max_rollouts": 600},
        goal=ProofArguments(), options=ShrinkOptions(), run_dir=folder,
    )  # fmt: skip
    return anyio.run(run_shrink_plan, plan, listener, Stop())


def listen_and_stop(folder, at):
    """Counts rollouts; asks to stop when the rollout number `at` has finished. 0: when the first session has ended."""
    rollouts = []

    def listener(event):
        if isinstance(event, RolloutFinished) and not event.reused:
            rollouts.append(event)
            if len(rollouts) == at:
                folder.request_stop()
        if isinstance(event, RunFinished) and not at and not listener.ended:
            listener.ended = True
            folder.request_stop()

    listener.ended = False
    return listener, rollouts


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """The numbers of rollouts after which the first batch, the trials and the proof of a shrink end."""
    place = tmp_path_factory.mktemp("ends")
    listener, _ = listen_and_stop(RunFolder(place), -1)
    rollouts = shrink(place, listener).document["rollouts"]
    return rollouts["values"], rollouts["values"] + rollouts["trials"], rollouts


@pytest.mark.parametrize("place", [0, 1])
def test_a_request_at_the_end_of_a_stage_ends_a_shrink_and_it_resumes(tmp_path, ends, place):
    folder = RunFolder(tmp_path / "run")
    listener, rollouts = listen_and_stop(folder, ends[place])
    with pytest.raises(Interrupted):
        shrink(folder.path, listener)
    assert len(rollouts) == ends[place]
    listener, more = listen_and_stop(folder, -1)
    assert shrink(folder.path, listener).document["rollouts"] == ends[2]
    assert len(rollouts) + len(more) == sum(ends[2].values()) - ends[2]["budget"]


def test_a_request_between_two_sessions_of_a_shrink_is_not_lost(tmp_path):
    folder = RunFolder(tmp_path / "run")
    listener, _ = listen_and_stop(folder, 0)
    with pytest.raises(Interrupted):
        shrink(folder.path, listener)


def test_a_request_after_the_first_agent_of_a_matrix_stops_the_second(tmp_path):
    plan = make_matrix_plan(
        SKILL, Inputs(tasks=TASKS[:10], version="1"), {"first": agent, "second": other},
        {"panel_b": 0, "max_rollouts": 1200}, max_drop=0.05, run_dir=tmp_path / "run",
    )  # fmt: skip
    first = next(iter(plan.plans.values())).runnable_parts()[1]
    listener, _ = listen_and_stop(first, 0)
    found = anyio.run(run_matrix_plan, plan, listener, Stop())
    assert isinstance(found.error, Interrupted)
    assert list(found.runs) == ["first"]


def listen_and_signal(times):
    """Sends so many SIGINT when the first session has ended."""
    ended = []

    def listener(event):
        if isinstance(event, RunFinished) and not ended:
            ended.append(event)
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return listener


def run_matrix(folder, listener):
    plan = make_matrix_plan(
        SKILL, Inputs(tasks=TASKS[:10], version="1"), {"first": agent, "second": other},
        {"panel_b": 0, "max_rollouts": 1200}, max_drop=0.05, run_dir=folder,
    )  # fmt: skip
    return anyio.run(run_matrix_plan, plan, listener, Stop())


def test_ctrl_c_between_two_agents_keeps_the_matrix_of_the_first(tmp_path):
    found = run_matrix(tmp_path / "run", listen_and_signal(1))
    assert isinstance(found.error, Interrupted)
    assert list(found.runs) == ["first"]
    assert (tmp_path / "run" / "matrix.json").is_file()


def test_a_second_ctrl_c_between_two_agents_ends_the_program_at_once(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_matrix(tmp_path / "run", listen_and_signal(2))
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_between_two_sessions_ends_a_shrink_with_its_document(tmp_path):
    with pytest.raises(Interrupted, match="resumes") as stopped:
        shrink(tmp_path / "run", listen_and_signal(1))
    assert stopped.value.document["stopped"]["reason"]
