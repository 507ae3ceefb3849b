"""`sv.shrink` for several agents: what is planned, agreed to, chosen and proved."""

import anyio
import pytest

import skillsv as sv
from skillsv.api.inputs import Inputs
from skillsv.api.shrink_agents import make_shared_plan, run_shared_plan
from skillsv.api.shrink_plan import ProofArguments
from skillsv.errors import Interrupted, SettingsError, Unavailable
from skillsv.pipeline.shared_proof import divide_rollouts, named_step
from skillsv.pipeline.shrink_preparation import ShrinkOptions
from skillsv.rollout import Stop

SKILL = """\
# Facts

- one
- two
- three
- nothing
"""


def reads(*needed):
    """What an agent answers that needs these lines and knows the rest."""

    def answer(skill, task):
        return "yes" if task.input not in needed or (skill and task.input in skill.text) else "no"

    return answer


def first(skill, task):
    return reads("one", "two")(skill, task)


def second(skill, task):
    return reads("one", "three")(skill, task)


TASKS = [{"input": word, "target": "yes"} for word in ("one", "two", "three") * 40]


@pytest.fixture(scope="module")
def short():
    return sv.shrink(SKILL, tasks=TASKS, agents={"first": first, "second": second}, max_rollouts=800)


def test_the_shorter_skill_keeps_what_any_agent_needs(short):
    assert short.met
    assert short.text == "# Facts\n\n- one\n- two\n- three\n"
    assert short.outcomes == {"first": "no worse", "second": "no worse"}
    assert short.lines()[0].startswith("No worse for each of 2 agents: 1 unit can go.")


def test_each_agent_has_a_run_with_values_and_a_proof(short):
    assert list(short.runs) == ["first", "second"]
    assert short.folders == tuple(run.folder for run in short.runs.values())
    for run in short.runs.values():
        assert (run.folder / "confirmation.json").exists()
        assert (run.folder / "report.html").exists()


def test_the_power_for_all_agents_is_the_product(short):
    document = short.to_dict()
    powers = [agent["power"] for agent in document["agents"]]
    assert document["power"] == pytest.approx(powers[0] * powers[1])
    assert document["sets"][0]["power"] == pytest.approx(
        document["agents"][0]["sets"][0]["power"] * document["agents"][1]["sets"][0]["power"]
    )


def test_the_second_agent_begins_with_what_the_first_showed(short):
    folders = {name: run.folder / "prior.json" for name, run in short.runs.items()}
    assert not folders["first"].exists()
    assert folders["second"].exists()


def test_a_cost_that_nobody_agreed_to_is_refused():
    with pytest.raises(
        SettingsError, match=r"nobody agreed to this cost. Forecast: at most 1,600 rollouts for 2 agents"
    ):
        sv.shrink(SKILL, tasks=TASKS, agents=["command:echo one", "command:echo two"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agent": first, "agents": [first, second]}, "either one agent or several"),
        ({"agents": [first]}, "two agents or more"),
        ({"agents": {"one": first, "other": first}}, "the same agent"),
        ({"agents": [first, second], "ask_judge": True}, "for the shrink of one agent"),
    ],
)
def test_agents_that_do_not_go_together_are_refused(arguments, message):
    with pytest.raises(SettingsError, match=message):
        sv.shrink(SKILL, tasks=TASKS, max_rollouts=400, **arguments)


def test_rollouts_that_one_agent_does_not_need_go_to_the_others():
    assert divide_rollouts(300, [300, 300, 300]) == [100, 100, 100]
    assert divide_rollouts(300, [40, 300, 300]) == [40, 130, 130]
    assert divide_rollouts(300, [300, 20, 50]) == [230, 20, 50]
    assert sum(divide_rollouts(100, [10, 20, 30])) == 60


class Counted:
    """An agent that needs some lines, counts what it is asked, and calls `interrupt` at one of its rollouts."""

    def __init__(self, name, needed, at=0, interrupt=None):
        self.fingerprint, self.needed, self.at, self.interrupt = name, needed, at, interrupt
        self.asked = []

    async def run(self, skill, task, replicate, workspace):
        self.asked.append((skill.digest if skill else "", task.id, replicate))
        if len(self.asked) == self.at:
            self.interrupt()
        known = task.input not in self.needed or (skill and task.input in skill.text)
        return sv.Outcome(answer="yes" if known else "no")


def shrink_counted(folder, agents, stop):
    async def work():
        plan = make_shared_plan(
            SKILL,
            Inputs(tasks=TASKS),
            {agent.fingerprint: agent for agent in agents},
            {"max_rollouts": 800, "jobs": 1},
            goal=ProofArguments(),
            options=ShrinkOptions(),
            run_dir=folder,
        )
        return await run_shared_plan(plan, lambda event: None, stop)

    return anyio.run(work)


@pytest.mark.heavy
@pytest.mark.parametrize("at", [150, 300], ids=["in the values", "in the proofs"])
def test_a_run_that_was_stopped_goes_on_and_pays_nothing_twice(tmp_path, at):
    stop = Stop()
    first = [Counted("one", ["one", "two"]), Counted("two", ["one", "three"], at, stop.request)]
    with pytest.raises(Interrupted):
        shrink_counted(tmp_path / "run", first, stop)
    later = [Counted("one", ["one", "two"]), Counted("two", ["one", "three"])]
    short = shrink_counted(tmp_path / "run", later, Stop())
    assert short.met
    for before, after in zip(first, later, strict=True):
        assert before.asked
        assert not set(before.asked) & set(after.asked)
    whole = [Counted("one", ["one", "two"]), Counted("two", ["one", "three"])]
    undisturbed = shrink_counted(tmp_path / "other", whole, Stop())
    assert [agent["sets"] for agent in short.to_dict()["agents"]] == [
        agent["sets"] for agent in undisturbed.to_dict()["agents"]
    ]


def test_an_error_in_a_step_names_the_agent():
    notes = []
    with pytest.raises(Unavailable, match="small: no answer"), named_step("small", "Proof for small.", notes.append):
        raise Unavailable("no answer")
    assert [note.message for note in notes] == ["Proof for small."]
