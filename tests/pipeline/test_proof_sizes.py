"""The same command again proves with the sizes of the first one, though it has none of its retries."""

import hashlib
import json
import re
import sqlite3

import pytest

import skillsv as sv
from skillsv.confirmation.paired_proof import ProofResult
from skillsv.errors import RecordsError, SkillSVError
from skillsv.pipeline.proof_sizes import ProofSizes
from skillsv.pipeline.shrink_spending import ShrinkSpending
from skillsv.rollout import RunFolder, scheduler
from skillsv.rollout.run_folder import PROOF_SIZES

SKILL = "# Rules\n\n" + "".join(f"- [rule-{number:02d}] says what to do.\n" for number in range(1, 9))
TASKS = [{"id": f"t{number}", "input": "?", "target": "solved", "verifier": "exact"} for number in range(160)]


def make_agent(mistakes):
    """An agent that needs one of two rules, and makes so many mistakes in a hundred by a hash of what it reads."""

    def agent(skill, task):
        text = skill.text if skill else ""
        chance = int(hashlib.sha256(f"{text} {task.id}".encode()).hexdigest(), 16) % 100
        rule = f"rule-{int(task.id[1:]) % 2 + 1:02d}"
        return "solved" if rule in re.findall(r"rule-\d+", text) and chance >= mistakes else "no"

    return agent


def shrink(place, agent):
    return sv.shrink(
        SKILL, tasks=TASKS, agent=agent, version="1", run_dir=place / "run", max_rollouts=600,
        max_drop=8, keep_going=True,
    ).document  # fmt: skip


def paid(place):
    with sqlite3.connect(place / "run/ledger.sqlite") as connection:
        return connection.execute("select count(*) from rollout").fetchone()[0]


def stored_sizes(place):
    return json.loads((place / "run" / PROOF_SIZES).read_text()).values()


def count_retries(monkeypatch, counted, retries):
    """Count so many retries more at the end of each session of a part."""
    add = ShrinkSpending.add

    def add_more(self, part, attempts, spending, usage):
        add(self, part, attempts + (retries if part == counted else 0), spending, usage)

    monkeypatch.setattr(ShrinkSpending, "add", add_more)


@pytest.mark.parametrize(("mistakes", "part", "retries"), [(10, "values", 80), (0, "trials", 250)])
def test_the_same_command_again_proves_with_the_first_size(tmp_path, mistakes, part, retries):
    with pytest.MonkeyPatch.context() as patch:
        count_retries(patch, part, retries)
        first = shrink(tmp_path, make_agent(mistakes))
    before = paid(tmp_path)
    again = shrink(tmp_path, make_agent(mistakes))
    assert first["sets"][0]["proof"]["pairs"] > 0
    assert again["sets"] == first["sets"]
    assert paid(tmp_path) == before


def test_several_agents_have_the_first_sizes_again_too(tmp_path):
    def other(skill, task):
        return make_agent(0)(skill, task)

    def shrink_for_two():
        return sv.shrink(
            SKILL, tasks=TASKS, agents={"one": make_agent(5), "two": other}, version="1",
            run_dir=tmp_path / "run", max_rollouts=1000, max_drop=15, keep_going=True,
        ).document  # fmt: skip

    with pytest.MonkeyPatch.context() as patch:
        count_retries(patch, "values", 60)
        first = shrink_for_two()
    before = paid(tmp_path)
    again = shrink_for_two()
    assert any(agent["rollouts"]["proof"] for agent in first["agents"])
    assert [agent["sets"] for agent in again["agents"]] == [agent["sets"] for agent in first["agents"]]
    assert paid(tmp_path) == before


def make_flaky(mistakes):
    """The same agent, whose first attempt on some of the tasks crashes; and the list of its attempts."""
    attempts, agent = [], make_agent(mistakes)

    def flaky(skill, task):
        key = (skill.text if skill else "", task.id)
        attempts.append(key)
        if attempts.count(key) == 1 and int(task.id[1:]) % 25 == 3:
            raise OSError("one hiccup")
        return agent(skill, task)

    return flaky, attempts


def test_retries_within_a_proof_leave_it_the_pairs_that_are_complete(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "backoff", lambda *_, **__: 0.0)
    flaky, attempts = make_flaky(10)
    first = shrink(tmp_path, flaky)
    assert 590 <= len(attempts) <= 600
    assert any("ended" in name for names in stored_sizes(tmp_path) for name in names)
    assert shrink(tmp_path, flaky)["sets"] == first["sets"]
    assert len(attempts) <= 600


@pytest.mark.parametrize("mistakes", [10, 0])
def test_an_early_end_counts_what_earlier_commands_paid_in_all_parts(tmp_path, monkeypatch, mistakes):
    def fail(*_):
        raise SkillSVError("no result.")

    found = []
    monkeypatch.setattr(ProofResult, "of", fail)
    for _ in range(2):
        with pytest.raises(SkillSVError, match="no result") as raised:
            shrink(tmp_path, make_agent(mistakes))
        found.append(raised.value.document["rollouts"])
    assert found[1] == found[0]
    assert sum(found[0].values()) - found[0]["budget"] == paid(tmp_path)


def test_a_size_is_stored_once_for_each_shrink(tmp_path):
    folder = RunFolder(tmp_path)
    one, other = (ProofSizes(folder=folder, identity=name) for name in ("one", "other"))
    assert one.keep("retries", 3) == 3
    assert one.keep("retries", 0) == 3
    assert other.keep("retries", 0) == 0
    assert one.keep("another", 9) == 9


@pytest.mark.parametrize("data", [b"[]", b'{"a": {"b": "\xff"}}'])
def test_a_damaged_file_is_named(tmp_path, data):
    (tmp_path / PROOF_SIZES).write_bytes(data)
    with pytest.raises(RecordsError, match="is no list of sizes") as raised:
        ProofSizes(folder=RunFolder(tmp_path), identity="one").keep("retries", 3)
    assert raised.value.where == str(tmp_path / PROOF_SIZES)
