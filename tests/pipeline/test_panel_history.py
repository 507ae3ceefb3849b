"""A task that any value of a folder has seen never counts as held out, whatever a later run asks for."""

import pytest

import skillsv as sv
from skillsv.model.fingerprint import first_part
from skillsv.pipeline.panel_history import known_panels, seen_by_values
from skillsv.rollout import RunFolder

SKILL = "# Facts\n\n- one\n- two\n- nothing\n"
WORDS = [{"id": f"w{number}", "word": ["one", "two"][number % 2]} for number in range(40)]


def value(folder, examples, **settings):
    return sv.value(
        SKILL,
        evaluate=lambda text, example: float(example["word"] in text),
        examples=examples,
        version="1",
        run_dir=folder,
        operators="delete",
        max_rollouts=60,
        **settings,
    )


def panels(folder):
    manifest = RunFolder(folder).manifest()
    return set(manifest["panel_a"]), set(manifest["panel_b"])


def test_another_seed_and_more_tasks_keep_what_was_seen_out_of_panel_b(tmp_path):
    folder = tmp_path / "run"
    value(folder, WORDS[:20], seed=1)
    first_a, first_b = panels(folder)
    value(folder, WORDS, seed=2)
    second_a, second_b = panels(folder)
    assert first_a <= second_a
    assert first_b <= second_b
    assert len(second_b) == 20


def test_the_ledger_tells_which_tasks_a_value_has_seen(tmp_path):
    folder = tmp_path / "run"
    run = value(folder, WORDS[:20], seed=1)
    seen = seen_by_values(RunFolder(folder))
    manifest = RunFolder(folder).manifest()
    assert seen
    assert seen <= {first_part(digest) for digest in manifest["panel_a"].values()}
    assert known_panels(RunFolder(folder)).b == {first_part(digest) for digest in manifest["panel_b"].values()}
    sv.confirm(run, "# Facts\n\n- one\n- two\n", max_drop=50, max_rollouts=200)
    assert seen_by_values(RunFolder(folder)) == seen, "a proof is no value"


def test_a_panel_b_that_was_seen_is_refused(tmp_path):
    folder = tmp_path / "run"
    value(folder, WORDS[:20], seed=1, panel_b=0)
    with pytest.raises(sv.errors.TaskError, match="has seen 20 of 20"):
        value(folder, WORDS[:20], seed=1, panel_b=10)
