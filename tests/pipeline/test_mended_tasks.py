"""Tasks on which a shrink mended its set are not held out any more; those of a plain proof are."""

import json
import re
import sqlite3

import pytest

import skillsv as sv
from skillsv.errors import RecordsError, TaskError
from skillsv.model.fingerprint import first_part
from skillsv.pipeline.mended_tasks import find_mended, read_mended
from skillsv.pipeline.panel_history import known_panels, mended_tasks, seen_by_values
from skillsv.rollout import RunFolder
from skillsv.rollout.ledger import ScoredRendering
from skillsv.rollout.run_folder import MENDED_TASKS

SKILL = "# Rules\n\n" + "".join(f"- [rule-{number:02d}] says what to do.\n" for number in range(1, 9))
TASKS = [{"id": f"t{number}", "input": "?", "target": "solved", "verifier": "exact"} for number in range(168)]


def needs(*, rare_every):
    """An agent that needs one of two rules, and on rare tasks a third one."""

    def agent(skill, task):
        number = int(task.id[1:])
        rule = "rule-04" if number % rare_every == 7 else f"rule-{number % 2 + 1:02d}"
        return "solved" if skill and rule in set(re.findall(r"rule-\d+", skill.text)) else "no"

    return agent


def shrink(place, *, rare_every=16, **options):
    return sv.shrink(
        SKILL, tasks=TASKS, agent=needs(rare_every=rare_every), version="1", run_dir=place / "run", max_rollouts=1500,
        panel_a=8, panel_b=160, seed=4, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def mended(tmp_path_factory):
    """A shrink whose first set lost held-out tasks, and whose second was proved on the other ones."""
    place = tmp_path_factory.mktemp("mended")
    short = shrink(place)
    first, second = short.document["sets"]
    assert first["proof"]["lost"]
    assert second["outcome"] == "no worse"
    return place, short


def digests(folder, names):
    manifest = folder.manifest()["panel_b"]
    return {first_part(manifest[name]) for name in names}


def paid(place):
    with sqlite3.connect(place / "run/ledger.sqlite") as connection:
        return connection.execute("select count(*) from rollout").fetchone()[0]


def test_all_tasks_of_the_proof_before_mending_count_as_seen(mended):
    place, short = mended
    folder = RunFolder(place / "run")
    seen = mended_tasks(folder)
    assert len(seen) == short.document["sets"][0]["proof"]["tasks"]
    assert digests(folder, short.document["sets"][0]["proof"]["lost"]) <= seen
    assert seen <= known_panels(folder).a
    assert not seen & seen_by_values(folder)


def test_confirm_proves_on_the_other_held_out_tasks(mended):
    _, short = mended
    proof = sv.confirm(short.run, short.text, max_drop=10, max_rollouts=2000)
    assert proof.result.confirmation.tasks == 160 - short.document["sets"][0]["proof"]["tasks"]


def test_the_same_shrink_again_goes_on_and_pays_nothing(mended):
    place, short = mended
    before = paid(place)
    assert shrink(place).document["sets"] == short.document["sets"]
    assert paid(place) == before


def test_tasks_that_an_earlier_version_mended_on_are_found_in_the_ledger(mended):
    place, _ = mended
    folder = RunFolder(place / "run")
    stored = mended_tasks(folder)
    (place / "run" / MENDED_TASKS).rename(place / "run" / "aside")
    try:
        assert mended_tasks(folder) == stored
    finally:
        (place / "run" / "aside").rename(place / "run" / MENDED_TASKS)


def test_tasks_of_a_plain_proof_stay_held_out(tmp_path):
    short = shrink(tmp_path, rare_every=1000)
    assert [one["outcome"] for one in short.document["sets"]] == ["no worse"]
    folder = RunFolder(tmp_path / "run")
    assert read_mended(folder) == {folder.run_id: frozenset()}
    (tmp_path / "run" / MENDED_TASKS).unlink()
    assert read_mended(folder) == {folder.run_id: frozenset()}


def test_two_plain_proofs_of_an_earlier_version_mend_nothing():
    """Both sets were proved on a beginning of the same tasks, and the first one lost some of these."""
    rows = [row(f"t{task}", "full", 1.0) for task in range(40)]
    rows += [row(f"t{task}", "first", float(task % 5 > 0)) for task in range(40)]
    rows += [row(f"t{task}", "second", 1.0) for task in range(20)]
    assert find_mended(rows, "run") == frozenset()
    assert find_mended([*rows, row("t5", "trial", 0.0)], "run") == {f"t{task}" for task in range(40)}


def row(task, tree, score):
    return ScoredRendering(run="run-shrink", task=task, agent="agent", tree=tree, score=score)


def test_without_other_tasks_a_confirmation_is_refused(mended):
    place, short = mended
    path = place / "run" / MENDED_TASKS
    text = path.read_text()
    folder = RunFolder(place / "run")
    path.write_text(json.dumps({folder.run_id: sorted(map(first_part, folder.manifest()["panel_b"].values()))}))
    try:
        with pytest.raises(TaskError, match="used all of these tasks to mend a set"):
            sv.confirm(short.run, short.text, max_drop=10, max_rollouts=2000)
    finally:
        path.write_text(text)


@pytest.mark.parametrize("data", [b"[]", b'{"run": ["\xff"]}'])
def test_a_damaged_list_of_tasks_is_named(tmp_path, data):
    (tmp_path / MENDED_TASKS).write_bytes(data)
    with pytest.raises(RecordsError, match="is no list of tasks") as raised:
        read_mended(RunFolder(tmp_path))
    assert raised.value.where == str(tmp_path / MENDED_TASKS)
