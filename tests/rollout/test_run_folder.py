"""The run folder: identity of a run, records after a torn write, earlier runs, and status."""

import os
import random
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import TRIGGER, World, plan

from skillsv.errors import LedgerError, OutputError, RecordsError
from skillsv.model.coalition import (
    AdaptiveReason,
    AgentPrior,
    ChainRecord,
    ChainStep,
    EarlierScore,
    KnownAnswers,
    KnownCoalition,
    Observation,
    Operator,
    PanelAnchors,
)
from skillsv.model.rollout import Rollout, RolloutKey, Usage
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.rollout import durable_files
from skillsv.rollout.chain_policy import chain_policy
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.records import UnitTable, checksum_file, encode_record, read_records
from skillsv.rollout.run_control import RunnerOptions
from skillsv.rollout.run_folder import RunFolder, answers_in, run_id

GOLDEN = Path(__file__).with_name("records.golden.jsonl")
EARLIER_GOLDEN = Path(__file__).with_name("records.observation1.golden.jsonl")
ONE = {"schema": "skillsv.run/1", "version": "1.0", "settings": {"orders": 5, "seed": 1}, "skill": {"name": "aaa"}}
OTHER = ONE | {"skill": {"name": "bbb"}}


def skill(text=b"# Toy\n", origin=None):
    files = [SkillFile(path="SKILL.md", role=FileRole.MAIN, data=text, size=len(text), digest="d")]
    files.append(
        SkillFile(path="scripts/go.sh", role=FileRole.RESOURCE, data=b"exit", size=4, digest="e", executable=True)
    )
    if origin is not None:
        files.append(SkillFile(path="big.bin", role=FileRole.RESOURCE, data=None, size=9, digest="f", origin=origin))
    return Skill(name="toy", root=Path(), main="SKILL.md", files=tuple(files))


def record(index=0, score=1.0):
    chain = plan(n=3, b=2, index=index)
    steps = tuple(
        ChainStep(operator=operator, position=position, unit=f"u{position}", scores=(score, None), tree="x")
        for position in (1, 2)
        for operator in chain.operators
    )
    row = (score, None)
    return ChainRecord(plan=chain, empty=(0.0, 0.0), trigger=(row, row), full=row, steps=steps)


def observation(score=0.5):
    coalition = frozenset({"m", "u2", "u1"})
    return Observation(coalition=coalition, operator=Operator.PAD, task="t", replicate=2, score=score, why="pilot")


@pytest.mark.parametrize(
    ("agent", "shown", "hidden"),
    [
        ("command:a.sh", True, False),
        ("command:a.sh", False, True),
        ("python:a.py:run", False, True),
        ("model:openai:x", False, False),
        ("model:openai:x", True, False),
    ],
)
def test_a_run_that_recorded_hide_target_keeps_its_name(tmp_path, agent, shown, hidden):
    about = ONE | {"agent": {"spec": agent, "fingerprint": "f"}}
    earlier = about | {"settings": {"orders": 5, "hide_target": hidden}}
    now = about | {"settings": {"orders": 5, "show_target": shown}}
    folder = RunFolder(tmp_path)
    folder.begin(earlier, skill())
    folder.append(record(0))
    assert folder.begin(now, skill())
    assert list(folder.chains()) == [0]


def test_records_are_read_as_they_were_written(tmp_path):
    folder = RunFolder(tmp_path)
    folder.append(record(1), observation())
    folder.append(record(0))
    again = RunFolder(tmp_path)
    assert list(again.chains().items()) == [(0, record(0)), (1, record(1))]
    assert again.observations() == [observation()]


def test_the_format_of_records_matches_the_golden_file():
    anchors = PanelAnchors(tasks=("t", "u"), empty=(0.0, None), trigger=(0.5, 0.0), full=(1.0, 1.0))
    records = [record(3), observation(), observation(None), anchors]
    table = UnitTable()
    lines = [encode_record(item, table) for item in records]
    assert b"".join([*table.encode_new_names(), *lines]).decode() == GOLDEN.read_text()
    assert list(read_records(GOLDEN)) == records
    assert list(read_records(EARLIER_GOLDEN)) == records, "observations that name all their units"


def test_observations_of_earlier_versions_are_known_and_go_on_in_the_short_form(tmp_path):
    folder = RunFolder(tmp_path)
    folder.records.write_bytes(EARLIER_GOLDEN.read_bytes())
    earlier = folder.observations()
    new = replace(earlier[0], coalition=frozenset({"m", "u2", "u9"}))
    folder.append(*earlier, new)
    folder.append(new, *earlier)
    lines = folder.records.read_bytes().splitlines()
    assert len(lines) == len(EARLIER_GOLDEN.read_bytes().splitlines()) + 2, "the names of units, and one record"
    assert RunFolder(tmp_path).observations() == [*earlier, new]


def test_records_of_many_units_take_few_bytes_and_name_them_once(tmp_path):
    units = [f"SKILL.md#a-section/item-{number}-0123abcd" for number in range(1000)]
    rng = random.Random(1)
    items = [replace(observation(), coalition=frozenset(rng.sample(units, 500)), replicate=n) for n in range(40)]
    for resumed in (items[:10], items[10:25], items[25:]):
        RunFolder(tmp_path).append(*resumed)
    folder = RunFolder(tmp_path)
    assert folder.observations() == items
    names = sum(map(len, units)) + 3 * len(units)
    assert folder.records.stat().st_size < names + 40 * 450 + 200


def test_a_coalition_with_a_unit_that_no_line_names_is_refused(tmp_path):
    folder = RunFolder(tmp_path)
    folder.append(observation())
    lines = folder.records.read_bytes().splitlines(keepends=True)
    folder.records.write_bytes(lines[1])
    checksum_file(folder.records).unlink()
    with pytest.raises(RecordsError, match="a unit that no line names"):
        RunFolder(tmp_path).observations()


@pytest.mark.heavy
@settings(deadline=None)
@given(cut=st.integers(1, 400))
def test_a_torn_last_line_is_replaced_by_the_next_record(tmp_path_factory, cut):
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    folder.append(record(0))
    folder.append(record(1))
    complete = folder.records.read_bytes()
    torn = complete[: max(complete.index(b"\n") + 1, len(complete) - cut)]
    folder.records.write_bytes(torn)
    resumed = RunFolder(folder.path)
    assert set(resumed.chains()) == {0}
    resumed.append(record(1))
    assert folder.records.read_bytes() == complete


def test_a_torn_first_line_is_replaced_by_the_next_record(tmp_path):
    folder = RunFolder(tmp_path)
    folder.records.write_bytes(b"x" * 200_000)
    assert folder.chains() == {}
    folder.append(record(0))
    assert RunFolder(tmp_path).chains() == {0: record(0)}


def test_a_record_is_written_once_and_a_repeated_chain_replaces_the_old(tmp_path):
    folder = RunFolder(tmp_path)
    folder.append(record(0), record(0), observation())
    resumed = RunFolder(tmp_path)
    resumed.append(record(0), observation())
    assert len(folder.records.read_bytes().splitlines()) == 3, "a chain, the names of units, an observation"
    resumed.append(record(0, score=0.25))
    assert RunFolder(tmp_path).chains() == {0: record(0, score=0.25)}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"not json\n", "no record"),
        (b'{"schema": "skillsv.chain/1", "record": {"plan": 3}}\n', "no record"),
        (b'{"schema": "skillsv.chain/9", "record": {}}\n', "Update SkillSV"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_its_number(tmp_path, line, word):
    folder = RunFolder(tmp_path)
    folder.records.write_bytes(encode_record(record(), UnitTable()) + line)
    with pytest.raises(RecordsError, match=word) as refused:
        folder.chains()
    assert f"{folder.records}:2" in str(refused.value)


def test_the_same_identity_resumes_under_another_version(tmp_path):
    folder = RunFolder(tmp_path)
    assert folder.run_id == ""
    assert folder.begin(ONE, skill()) is False
    folder.append(record())
    assert RunFolder(tmp_path).begin(ONE | {"version": "2.0", "about": {"host": "x"}}, skill()) is True
    assert folder.chains() == {0: record()}
    assert folder.manifest()["version"] == "2.0"
    assert folder.run_id == run_id(ONE)
    assert not (tmp_path / "earlier").exists()


def test_another_identity_moves_the_earlier_run_and_keeps_the_ledger(tmp_path):
    folder = RunFolder(tmp_path)
    with Ledger.open(folder.ledger):
        folder.begin(ONE, skill(b"old"))
        folder.append(record())
        folder.write("valuation.json", b"{}")
        folder.write("report.html", b"<p>")
        folder.begin(OTHER, skill(b"new"))
    aside = tmp_path / "earlier" / run_id(ONE)
    assert sorted(path.name for path in aside.iterdir()) == [
        *("manifest.json", "records.crc32", "records.jsonl", "report.html", "skill", "valuation.json")
    ]
    assert RunFolder(aside).chains() == {0: record()}
    assert (aside / "skill" / "SKILL.md").read_bytes() == b"old"
    assert (folder.skill / "SKILL.md").read_bytes() == b"new"
    assert folder.chains() == {}
    assert folder.ledger.exists()
    for manifest in (ONE, OTHER, ONE):
        folder.begin(manifest, skill())
    assert {path.name for path in (tmp_path / "earlier").iterdir()} >= {f"{run_id(ONE)}-2", run_id(OTHER)}


def test_the_copy_of_the_skill_has_the_same_bytes_and_modes(tmp_path):
    big = tmp_path / "elsewhere"
    big.write_bytes(b"123456789")
    folder = RunFolder(tmp_path / "run")
    folder.begin(ONE, skill(origin=big))
    assert (folder.skill / "big.bin").read_bytes() == b"123456789"
    assert os.access(folder.skill / "scripts/go.sh", os.X_OK)
    assert not (folder.skill / "SKILL.md").stat().st_mode & 0o111


def test_fresh_moves_the_ledger_unless_a_run_is_writing(tmp_path):
    folder = RunFolder(tmp_path)
    folder.start_fresh()
    with Ledger.open(folder.ledger) as ledger:
        folder.begin(ONE, skill())
        ledger.record(Rollout(key=RolloutKey(tree="a", task="b", agent="c"), task_id="b", score=1.0))
        with pytest.raises(LedgerError, match="another run"):
            folder.start_fresh()
    folder.start_fresh()
    assert not folder.ledger.exists()
    with Ledger.open(tmp_path / "earlier" / run_id(ONE) / "ledger.sqlite", read_only=True) as earlier:
        assert earlier.summary().scored == 1


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    folder.write("valuation.json", b"old")

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable_files.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        folder.write("valuation.json", b"new")
    assert folder.valuation.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["valuation.json"]


def test_a_manifest_that_is_no_json_is_named(tmp_path):
    folder = RunFolder(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(RecordsError, match="manifest"):
        folder.begin(ONE, skill())


def test_the_status_of_a_matrix_names_the_run_of_an_agent(tmp_path):
    (tmp_path / "matrix-runs" / "agent-1").mkdir(parents=True)
    with pytest.raises(RecordsError) as error:
        RunFolder(tmp_path).status()
    assert error.value.hint == "Name the run of an agent: matrix-runs/agent-1."


def test_status_is_correct_during_and_after_a_run(tmp_path):
    with pytest.raises(RecordsError, match="holds no run"):
        RunFolder(tmp_path).status()
    folder, seen = RunFolder(tmp_path), []
    world = World(tmp_path, options=RunnerOptions(run=run_id(ONE)))
    world.agent.usage = Usage(usd=0.5)

    async def go():
        with Ledger.open(folder.ledger) as ledger:
            folder.begin(ONE, skill())
            runner = world.runner(ledger)
            policies = [chain_policy(plan(index=index, rotate=index), TRIGGER) for index in range(5)]

            def keep(_, done):
                folder.append(done)
                seen.append(RunFolder(tmp_path).status())

            await runner.run_policies(policies, keep)
            return runner.spending

    spending = anyio.run(go)
    assert [status.chains for status in seen] == [1, 2, 3, 4, 5]
    assert all(status.running and status.planned == 5 for status in seen)
    after = RunFolder(tmp_path).status()
    assert not after.running
    assert (after.rollouts, after.reused, after.missing) == (spending.spent, spending.reused, spending.failed)
    assert after.usage.usd == 0.5 * spending.spent
    assert not after.valued


def test_answers_of_a_chain_are_counted_once():
    chain = record()
    assert answers_in(chain) == 2 * (4 + 2)
    assert answers_in(replace(chain, steps=chain.steps[:2], truncated_at=1)) == 2 * (4 + 2)


def test_notes_say_whether_the_run_is_provisional(tmp_path):
    folder = RunFolder(tmp_path)
    assert (folder.notes(), folder.provisional) == ((), False)
    folder.keep_notes(["The budget is used up."], provisional=True)
    assert (folder.notes(), folder.provisional) == (("The budget is used up.",), True)


def test_notes_of_earlier_versions_are_read(tmp_path):
    (tmp_path / "notes.json").write_text('["The agent is deterministic."]')
    folder = RunFolder(tmp_path)
    assert (folder.notes(), folder.provisional) == (("The agent is deterministic.",), False)


def test_another_record_after_a_torn_line_is_no_damage(tmp_path):
    RunFolder(tmp_path).append(record(0), record(1))
    records = tmp_path / "records.jsonl"
    records.write_bytes(records.read_bytes()[:-5])
    RunFolder(tmp_path).append(record(2))
    assert sorted(RunFolder(tmp_path).chains()) == [0, 2]
    records.rename(tmp_path / "moved")
    RunFolder(tmp_path).append(record(3))
    assert sorted(RunFolder(tmp_path).chains()) == [3]


def test_status_adds_what_editors_and_later_commands_spent(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with Ledger.open(folder.ledger) as ledger:
        folder.begin(ONE, skill())
        for number, run in enumerate([folder.run_id, f"{folder.run_id}-confirm", f"{folder.run_id}-confirm", "other"]):
            key = RolloutKey(tree="x", task=str(number), agent="a")
            ledger.record(Rollout(key=key, task_id="t", score=1.0, usage=Usage(usd=1.0), duration=2.0), run=run)
    folder.keep_spending("refine", 2, Usage(input_tokens=7, usd=0.5))
    folder.keep_spending("refine", 1, Usage(usd=0.25))
    status = folder.status()
    assert (status.rollouts, status.usage.usd) == (1, 1.0)
    assert {name: (spent.rollouts, spent.usage.usd) for name, spent in status.commands.items()} == {
        "confirm": (2, 2.0),
        "refine": (3, 0.75),
    }
    assert (status.total.rollouts, status.total.usage) == (6, Usage(input_tokens=7, usd=3.75))


def test_a_torn_line_of_spending_is_left_out(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with Ledger.open(folder.ledger):
        folder.begin(ONE, skill())
    folder.keep_spending("refine", 1, Usage(usd=0.25))
    with (folder.path / "spending.jsonl").open("ab") as file:
        file.write(b'{"command": "ref')
    assert folder.status().total.usage.usd == 0.25


def test_what_other_agents_showed_is_kept_with_the_run(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert folder.prior() == AgentPrior()
    folder.keep_prior(AgentPrior())
    assert not (tmp_path / "run").exists()
    pair = KnownCoalition(task="t", coalition=frozenset({"m", "a"}))
    prior = AgentPrior(coalitions=(pair,), values=({"a": 0.25},))
    folder.keep_prior(prior)
    assert RunFolder(tmp_path / "run").prior() == prior


def test_scores_of_other_agents_are_kept_and_older_files_have_none(tmp_path):
    folder = RunFolder(tmp_path / "run")
    scores = (
        (EarlierScore(task="t", coalition=frozenset({"m", "a"}), score=0.5),),
        (EarlierScore(task="t", coalition=frozenset({"m"}), score=0.0),),
    )
    prior = AgentPrior(values=({"a": 0.25}, {"a": 0.5}), scores=scores)
    folder.keep_prior(prior)
    assert RunFolder(tmp_path / "run").prior() == prior
    (folder.path / "prior.json").write_text('{"coalitions": [["t", ["m", "a"]]], "values": [{"a": 0.25}]}')
    pair = KnownCoalition(task="t", coalition=frozenset({"m", "a"}))
    assert folder.prior() == AgentPrior(coalitions=(pair,), values=({"a": 0.25},))
    (folder.path / "prior.json").write_text('{"coalitions": [], "values": [], "scores": [[["t", [3], 1.0]]]}')
    with pytest.raises(RecordsError, match="list of other agents"):
        folder.prior()


def test_what_an_edited_skill_takes_over_is_kept_with_the_run(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.keep_known(KnownAnswers())
    assert not (tmp_path / "run").exists()
    stored = KnownCoalition(task="t", coalition=frozenset({"m", "a"}), why=AdaptiveReason.VERIFY)
    change = KnownCoalition(task="t", coalition=frozenset({"m", "b"}))
    known = KnownAnswers(coalitions=(stored,), changes=(change,), steady=True)
    folder.keep_known(known)
    assert RunFolder(tmp_path / "run").known() == known


@pytest.mark.parametrize(("ask_first", "coalitions"), [("true", 1), ("false", 0)])
def test_what_an_earlier_version_of_skillsv_took_over_is_read(tmp_path, ask_first, coalitions):
    (tmp_path / "known.json").write_text(f'{{"ask_first": {ask_first}, "coalitions": [["t", ["a", "m"]]]}}')
    known = RunFolder(tmp_path).known()
    assert known.coalitions == (KnownCoalition(task="t", coalition=frozenset({"m", "a"})),) * coalitions
    assert (known.changes, known.steady) == ((), False)


def test_the_runs_of_a_matrix_share_the_ledger_of_the_folder_above(tmp_path):
    assert RunFolder(tmp_path / "matrix-runs" / "a").ledger == tmp_path / "ledger.sqlite"
    assert RunFolder(tmp_path / "matrix-runs" / "a" / "earlier" / "b").ledger == tmp_path / "ledger.sqlite"
    assert RunFolder(tmp_path / "agents" / "a").ledger == tmp_path / "agents" / "a" / "ledger.sqlite"


@pytest.mark.parametrize(("name", "what"), [("known.json", "list of coalitions"), ("prior.json", "other agents")])
def test_a_damaged_file_that_is_no_text_is_named(tmp_path, name, what):
    (tmp_path / name).write_bytes(b'{"coalitions": [["\xff", []]], "ask_first": true, "values": []}')
    folder = RunFolder(tmp_path)
    with pytest.raises(RecordsError, match=what):
        folder.known() if name == "known.json" else folder.prior()
