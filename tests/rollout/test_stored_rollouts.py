"""Which rollouts of a ledger can be reused, and why others cannot."""

from skillsv.model.fingerprint import extend
from skillsv.rollout.stored_rollouts import ReusableRollouts, StoredGroup, matching_keys, sort_rollouts

AGENT = extend("command/1:a", ["variable VOICE 1"])
OLD_AGENT = "command/1:a"
JUDGED = extend("t2", ["judge model/1:x"])


def group(task, agent, rollouts, since=None):
    return StoredGroup(task=task, agent=agent, rollouts=rollouts, since=since)


def test_rollouts_are_sorted_by_the_part_of_the_key_that_differs():
    groups = [
        group("t1", AGENT, 1, 30),
        group(JUDGED, AGENT, 2, 20),
        group("t1", OLD_AGENT, 4, 10),
        group("t2", AGENT, 8),
        group("t9", OLD_AGENT, 16),
        group("t1", "command/1:b", 32),
    ]
    found = sort_rollouts(groups, AGENT, {"t1", JUDGED})
    assert found == ReusableRollouts(reusable=3, other_inputs=12, other_tasks=16, other_agents=32, since=20)


def test_rollouts_are_matched_by_the_first_parts_of_their_keys():
    groups = [group("t1", AGENT, 1), group("t2", OLD_AGENT, 1), group("t9", AGENT, 1), group("t1", "command/1:b", 1)]
    assert matching_keys(groups, AGENT, {"t1", JUDGED}) == {("t2", OLD_AGENT): (JUDGED, AGENT)}
