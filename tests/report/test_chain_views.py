from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure, RolloutKey
from skillsv.report.chain_views import choose_transcripts, find_informative_rollouts
from skillsv.report.marginals import marginals_by_unit


def rollout(tree, task, answer, **more):
    return Rollout(key=RolloutKey(tree=tree, task="digest", agent="x"), task_id=task, score=1.0, answer=answer, **more)


def test_preferred_transcripts_come_first_until_the_limit():
    rollouts = [rollout("t", f"task-{index}", "x" * 100) for index in range(10)]
    chosen = choose_transcripts(rollouts, [("t", "task-7"), ("t", "unknown")], 1_000)
    assert [task for _, task in chosen.by_key] == ["task-7", "task-0"]
    assert (chosen.available, chosen.limit) == (10, 1_000)
    assert chosen.anchor("t", "task-7") == "rollout-1"
    assert chosen.anchor("t", "task-9") is None


def test_a_transcript_is_preferred_to_the_answer_escaped_and_clipped():
    long = rollout("t", "a", "short", transcript="\x1b[2J" + "y" * 20_000)
    (transcript,) = choose_transcripts([long], [], 100_000).by_key.values()
    assert transcript.text.startswith("␛[2J")
    assert "more characters" in transcript.text
    assert len(transcript.text) < 9_000


def test_a_failed_rollout_shows_kind_and_message():
    failed = Rollout(
        key=RolloutKey(tree="t", task="d", agent="x"),
        task_id="a",
        score=None,
        failure=RolloutFailure(kind=FailureKind.TIMEOUT, message="too slow"),
    )
    (transcript,) = choose_transcripts([failed], [], 1_000).by_key.values()
    assert transcript.failure == "timeout: too slow"


def test_rollouts_worth_reading_are_those_of_recorded_renderings(case):
    places = find_informative_rollouts(marginals_by_unit(case.records))
    trees = {step.tree for record in case.records for step in record.steps}
    assert places
    assert len(places) == len(set(places))
    assert {tree for tree, _ in places} <= trees
