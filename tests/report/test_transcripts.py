from skillsv.model.rollout import FailureKind, Rollout, RolloutFailure, RolloutKey
from skillsv.report.chain_views import shelf, telling_places
from skillsv.report.marginals import marginals_by_unit


def rollout(tree, task, answer, **more):
    return Rollout(key=RolloutKey(tree=tree, task="digest", agent="x"), task_id=task, score=1.0, answer=answer, **more)


def test_the_wanted_ones_come_first_until_the_limit():
    rollouts = [rollout("t", f"task-{index}", "x" * 100) for index in range(10)]
    books = shelf(rollouts, [("t", "task-7"), ("t", "nowhere")], 1_000)
    assert [place[1] for place in books.kept] == ["task-7", "task-0"]
    assert (books.available, books.limit) == (10, 1_000)
    assert books.anchor("t", "task-7") == "rollout-1"
    assert books.anchor("t", "task-9") is None


def test_a_transcript_is_shown_rather_than_the_answer_and_harmless():
    long = rollout("t", "a", "short", transcript="\x1b[2J" + "y" * 20_000)
    (book,) = shelf([long], [], 100_000).kept.values()
    assert book.text.startswith("␛[2J")
    assert "more characters" in book.text
    assert len(book.text) < 9_000


def test_a_failure_says_its_kind():
    failed = Rollout(
        key=RolloutKey(tree="t", task="d", agent="x"),
        task_id="a",
        score=None,
        failure=RolloutFailure(kind=FailureKind.TIMEOUT, message="too slow"),
    )
    (book,) = shelf([failed], [], 1_000).kept.values()
    assert book.failure == "timeout: too slow"


def test_telling_places_are_where_scores_changed(case):
    places = telling_places(marginals_by_unit(case.records))
    trees = {step.tree for record in case.records for step in record.steps}
    assert places
    assert len(places) == len(set(places))
    assert {tree for tree, _ in places} <= trees
