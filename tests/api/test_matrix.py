"""`sv.matrix` on agents whose values are known."""

import hashlib
import json

import pytest
from tests.api.letter_agents import SKILL, deaf, large, read, small

import skillsv as sv
from skillsv.api.inputs import Inputs
from skillsv.api.matrix import gravest
from skillsv.api.matrix_agents import result_without_budget
from skillsv.api.matrix_plan import Limits, make_matrix_plan
from skillsv.errors import BudgetReached, Interrupted, NoDifference, SettingsError, Unavailable
from skillsv.model.coalition import AgentPrior
from skillsv.model.rollout import Usage
from skillsv.rollout import RunFolder
from skillsv.settings import Settings


def other(skill, task):
    """Needs alpha and delta."""
    return read(skill, task) if task.input in {"alpha", "delta"} else "no"


TRUTH = {
    "small": {"alpha": 0.2, "beta": 0.2, "gamma": 0.2, "delta": 0.0, "omega": 0.0},
    "large": {"alpha": 0.2, "beta": 0.2, "gamma": -0.2, "delta": 0.0, "omega": 0.0},
    "other": {"alpha": 0.2, "beta": 0.0, "gamma": 0.0, "delta": 0.2, "omega": 0.0},
}


@pytest.fixture(scope="module")
def tasks():
    words = ("alpha", "beta", "gamma", "delta", "omega")
    return [{"id": f"t{number:02d}", "input": words[number % 5], "target": "yes"} for number in range(20)]


@pytest.fixture(scope="module")
def found(tmp_path_factory, tasks):
    folder = tmp_path_factory.mktemp("matrix") / "run"
    agents = {"small": small, "large": large, "other": other}
    return sv.matrix(SKILL, tasks=tasks, agents=agents, panel_b=0, max_rollouts=900, run_dir=folder)


def words_of(matrix):
    return {unit["id"]: unit["text"].strip("- \n") for unit in matrix.document["units"]}


def test_values_of_planted_agents_are_the_truth(found):
    words = words_of(found)
    for unit in found.document["units"]:
        for cell in unit["cells"]:
            truth = TRUTH[cell["agent"]][words[unit["id"]]]
            assert cell["net"]["low"] - 1e-9 <= truth <= cell["net"]["high"] + 1e-9
            assert cell["effect"] == ("helps" if truth > 0 else "harms" if truth < 0 else "none")


def test_lines_that_help_all_some_or_none_and_disagreements_are_found(found):
    words = words_of(found)
    patterns = {words[unit["id"]]: unit["pattern"] for unit in found.document["units"]}
    assert patterns == {
        "alpha": "helps all", "beta": "helps some", "gamma": "disagree", "delta": "helps some", "omega": "none",
    }  # fmt: skip
    assert {words[unit] for unit in found.disagreements} == {"beta", "gamma", "delta"}


def test_the_shared_skill_keeps_what_any_agent_needs(found):
    words = words_of(found)
    assert [words[unit] for unit in found.removed] == ["omega"]
    each = {skill["agents"][0]: {words[unit] for unit in skill["removed"]} for skill in found.document["for_each"]}
    assert each == {
        "small": {"delta", "omega"},
        "large": {"gamma", "delta", "omega"},
        "other": {"beta", "gamma", "omega"},
    }
    large = next(skill for skill in found.document["for_each"] if skill["agents"] == ["large"])
    assert large["predicted"][0]["change"]["value"] > 0.1


def test_agents_that_agree_rank_alike(found):
    taus = {(pair["first"], pair["second"]): pair["tau"] for pair in found.document["agreements"]}
    assert len(taus) == 3
    assert -1 <= taus["small", "large"] < 1


def test_all_agents_share_tasks_ledger_and_budget(found):
    manifests = [json.loads(path.read_text()) for path in found.folder.glob("matrix-runs/*/manifest.json")]
    assert len(manifests) == 3
    assert all(manifest["panel_a"] == manifests[0]["panel_a"] for manifest in manifests)
    assert [path.parent for path in found.folder.rglob("ledger.sqlite")] == [found.folder]
    assert sum(run.valuation.rollouts.spent for run in found.runs.values()) <= 900


def test_the_same_call_again_pays_nothing(found, tasks):
    agents = {"small": small, "large": large, "other": other}
    again = sv.matrix(SKILL, tasks=tasks, agents=agents, panel_b=0, max_rollouts=900, run_dir=found.folder)
    assert sum(run.valuation.rollouts.spent for run in again.runs.values()) == 0
    assert again.document["units"] == found.document["units"]


def test_value_goes_on_with_what_a_later_agent_began_with(found, tasks):
    run = found.runs["other"]
    limit = run.stored.settings.max_rollouts
    again = sv.value(SKILL, tasks=tasks, agent=other, panel_b=0, max_rollouts=limit, run_dir=run.folder)
    assert RunFolder(run.folder).prior() != AgentPrior()
    assert again.valuation.rollouts.spent == 0
    assert [unit.net for unit in again.valuation.units] == [unit.net for unit in run.valuation.units]


def test_notes_say_where_values_follow_earlier_agents_each_once(found):
    notes = found.document["notes"]
    assert any(note.startswith("other: On 12 tasks scores differ from what earlier agents'") for note in notes)
    repeats = [note for note in notes if "The agent repeats itself" in note]
    assert [note.partition(": ")[0] for note in repeats] == ["small, large, other"]
    assert all(f"Note: {note}" in found.lines() for note in notes)


def test_fresh_forgets_the_rollouts_of_all_agents(tmp_path, tasks):
    agents = {"small": small, "other": other}
    runs = [
        sv.matrix(SKILL, tasks=tasks[:8], agents=agents, panel_b=0, max_rollouts=120, run_dir=tmp_path, fresh=fresh)
        for fresh in (False, True)
    ]
    first, second = (sum(run.valuation.rollouts.spent for run in found.runs.values()) for found in runs)
    assert first == second > 0
    assert len(list((tmp_path / "earlier").glob("*/matrix-runs/*/manifest.json"))) == 2


def test_a_later_agent_gets_what_an_earlier_one_left():
    limits = Limits(rollouts=300, tokens=None, usd=3.0, seconds=None)
    assert limits.divide(Settings(), 3).max_rollouts == 100
    left = limits.minus(50, Usage(usd=0.5), 7.0)
    assert (left.rollouts, left.usd, left.seconds) == (250, 2.5, None)
    assert left.divide(Settings(), 2).max_rollouts == 125
    assert left.divide(Settings(), 2).budget_usd == 1.25


def test_agents_that_look_the_same_are_refused(tasks):
    def make(word):
        return lambda skill, task: word

    with pytest.raises(SettingsError, match="are the same agent"):
        sv.matrix(SKILL, tasks=tasks, agents={"one": make("yes"), "two": make("no")}, max_rollouts=100)


@pytest.mark.heavy
def test_an_agent_that_ignores_the_skill_leaves_the_others_their_values(tasks, tmp_path):
    found = sv.matrix(
        SKILL, tasks=tasks, agents={"deaf": deaf, "small": small}, panel_b=0, max_rollouts=340,
        run_dir=tmp_path / "run",
    )  # fmt: skip
    assert isinstance(found.error, NoDifference)
    ignored, valued = found.document["agents"]
    assert ignored["rollouts"] is None
    assert str(found.error) == ignored["error"]
    assert valued["error"] is None
    assert [cell["agent"] for cell in found.document["units"][0]["cells"]] == ["small"]


def test_the_gravest_error_of_the_agents_is_that_of_the_matrix():
    limit, failure, other_failure, stop = (kind("x") for kind in (BudgetReached, Unavailable, Unavailable, Interrupted))
    assert gravest([limit, failure, other_failure]) is failure
    assert gravest([limit, failure, stop]) is stop
    assert gravest([limit]) is limit
    assert gravest([]) is None


def test_a_failure_after_a_reached_limit_is_the_error_of_the_matrix(tasks):
    found = sv.matrix(SKILL, tasks=tasks, agents={"small": small, "deaf": deaf}, panel_b=0, max_rollouts=150)
    assert isinstance(found.runs["small"].error, BudgetReached)
    assert isinstance(found.error, NoDifference)


@pytest.mark.heavy
def test_a_matrix_without_any_values_raises_the_first_error(tasks):
    def broken(skill, task):
        raise OSError("no connection")

    with pytest.raises(Unavailable):
        sv.matrix(SKILL, tasks=tasks, agents={"broken": broken, "deaf": deaf}, panel_b=0, max_rollouts=100)


def test_a_budget_that_is_too_small_is_said_and_the_partial_matrix_kept(tasks):
    found = sv.matrix(SKILL, tasks=tasks, agents={"small": small, "large": large}, panel_b=0, max_rollouts=100)
    assert isinstance(found.error, BudgetReached)
    assert all(agent["provisional"] for agent in found.document["agents"])


def test_chains_go_on_for_every_agent_when_the_command_is_repeated(tasks, tmp_path):
    agents = {"small": small, "large": large}
    options = {"panel_b": 0, "method": "chain", "orders": 4, "max_rollouts": 500, "run_dir": tmp_path / "run"}
    first = sv.matrix(SKILL, tasks=tasks, agents=agents, **options)
    spent = [run.valuation.rollouts.spent for run in first.runs.values()]
    assert isinstance(first.error, BudgetReached)
    assert len(spent) == 2
    second = sv.matrix(SKILL, tasks=tasks, agents=agents, **options)
    assert list(second.runs) == ["small", "large"]
    assert 0 < sum(run.valuation.rollouts.spent for run in second.runs.values()) <= 500
    assert second.error is None


def test_an_agent_without_budget_keeps_its_stored_result(found, tasks, tmp_path):
    def plan_in(folder):
        agents, limits = {"small": small, "large": large, "other": other}, {"panel_b": 0, "max_rollouts": 900}
        plan = make_matrix_plan(SKILL, Inputs(tasks=tasks), agents, limits, max_drop=0.05, run_dir=folder)
        return plan.plans["large"]

    stored = result_without_budget(plan_in(found.folder), 900)
    assert isinstance(stored, sv.Run)
    assert stored.error is None
    assert [unit.net for unit in stored.valuation.units] == [unit.net for unit in found.runs["large"].valuation.units]
    assert isinstance(result_without_budget(plan_in(tmp_path / "new"), 900), BudgetReached)


@pytest.mark.parametrize(
    ("agents", "words"),
    [([small], "two agents or more"), ([small, small], "same name"), ("model:a", "are a list")],
)
def test_agents_that_cannot_be_compared_are_refused(tasks, agents, words):
    with pytest.raises(SettingsError, match=words):
        sv.matrix(SKILL, tasks=tasks, agents=agents)


def test_agents_that_spend_need_consent(tasks):
    with pytest.raises(SettingsError, match="nobody agreed"):
        sv.matrix(SKILL, tasks=tasks, agents=["command:true", "command:false"])


def test_rows_csv_and_the_shorter_skill_can_be_written(found, tmp_path):
    rows = found.rows()
    assert rows[0]["small"] == pytest.approx(0.2)
    lines = found.to_csv().splitlines()
    assert lines[0].startswith("unit,file,line,small,small low,small high,small effect,large")
    assert len(lines) == 6
    found.write(tmp_path / "shorter")
    assert "omega" not in (tmp_path / "shorter" / "SKILL.md").read_text()
    found.write(tmp_path / "large", agent="large")
    assert "gamma" not in (tmp_path / "large" / "SKILL.md").read_text()


@pytest.mark.heavy
def test_held_out_tasks_of_an_earlier_run_stay_held_out(tasks, tmp_path):
    run = sv.value(SKILL, tasks=tasks, agent=small, max_rollouts=200, panel_a=10, panel_b=10, run_dir=tmp_path / "run")
    held_out = set(run.stored.manifest["panel_b"])
    found = sv.matrix(
        SKILL, tasks=tasks, agents={"small": small, "large": large}, max_rollouts=200, panel_a=0.5, seed=7,
        run_dir=tmp_path / "run",
    )  # fmt: skip
    for agent in found.runs.values():
        assert not held_out & set(agent.stored.manifest["panel_a"])


@pytest.mark.heavy
def test_the_shared_skill_is_proved_for_each_agent(tasks):
    more = [{**task, "id": f"{task['id']}-{number}"} for task in tasks for number in range(2)]
    found = sv.matrix(SKILL, tasks=more, agents={"small": small, "other": other}, max_rollouts=600)
    proofs = found.confirm(max_drop=40, max_rollouts=200)
    assert list(proofs) == ["small", "other"]
    assert all(proof.met and proof.change.value == 0 for proof in proofs.values())


def noisy(skill, task, replicate):
    """Reads the skill, and gives the other answer in one of five rollouts."""
    text = f"{skill.text if skill else ''} {task.id} {replicate}"
    wrong = int(hashlib.sha256(text.encode()).hexdigest(), 16) % 5 == 0
    return {"yes": "no", "no": "yes"}[read(skill, task)] if wrong else read(skill, task)


@pytest.mark.heavy
def test_a_noisy_agent_keeps_what_it_was_told_with_its_run(tasks, tmp_path):
    found = sv.matrix(
        SKILL, tasks=tasks, agents={"small": small, "noisy": noisy}, panel_b=0, max_rollouts=500, run_dir=tmp_path / "r"
    )
    first, second = (RunFolder(run.folder).prior() for run in found.runs.values())
    assert first == AgentPrior()
    assert len(second.values) == 1
    assert len(second.scores) == 1
    assert found.document["agents"][1]["noisy"]
    again = sv.load_run(found.runs["noisy"].folder).valuation
    assert [unit.net for unit in again.units] == [unit.net for unit in found.runs["noisy"].valuation.units]
