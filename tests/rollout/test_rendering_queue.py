"""Which rollout starts next: the first of a rendering alone, its followers after the answer, and no idle slot."""

from skillsv.model.rollout import Request, RolloutKey
from skillsv.rollout.pending import PendingRollout
from skillsv.rollout.rendering_queue import ANSWERED_KEPT, RenderingQueue


def pending(tree, rank):
    request = Request(coalition=frozenset(), operator="delete", task=f"t{rank}")
    return PendingRollout(request=request, key=RolloutKey(tree=tree, task=f"t{rank}", agent="a"), rank=(0, rank))


def queue_of(*trees):
    queue = RenderingQueue()
    for rank, tree in enumerate(trees):
        queue.push(pending(tree, rank))
    return queue


def names(queue, count):
    return [f"{item.key.tree}{item.rank[1]}" for item in (queue.pop() for _ in range(count))]


def test_followers_wait_for_the_first_of_their_rendering_while_there_is_other_work():
    queue = queue_of("a", "a", "b", "b", "c")
    assert names(queue, 3) == ["a0", "b2", "c4"]
    assert len(queue) == 2


def test_a_slot_takes_a_follower_rather_than_staying_idle():
    queue = queue_of("a", "a", "b", "b")
    assert names(queue, 4) == ["a0", "b2", "a1", "b3"]
    assert len(queue) == 0


def test_followers_go_first_after_the_answer():
    queue = queue_of("a", "a", "a", "b", "c")
    first = queue.pop()
    assert names(queue, 1) == ["b3"]
    queue.note_end(first, answered=True)
    assert names(queue, 3) == ["a1", "a2", "c4"]


def test_another_rollout_leads_where_the_first_has_failed():
    queue = queue_of("a", "a", "a", "b")
    first = queue.pop()
    assert names(queue, 1) == ["b3"]
    queue.note_end(first, answered=False)
    queue.push(pending("c", 9))
    assert names(queue, 2) == ["a1", "c9"]
    assert {item.rank[1] for item in queue} == {2}


def test_only_the_latest_renderings_are_remembered():
    queue = RenderingQueue()
    for number in range(ANSWERED_KEPT + 10):
        queue.push(pending(f"tree {number}", number))
        queue.note_end(queue.pop(), answered=True)
    assert len(queue._answered) == ANSWERED_KEPT
    assert not queue._running
