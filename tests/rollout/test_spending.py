"""The spending tracker: which failure messages count as the same."""

import pytest

from skillsv.rollout.spending import normalized_message


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("task t1 died in /tmp/a1/x.py", "task t2 died in /tmp/b7/x.py", True),
        ("task t1: KeyError: 't1'", "task t2: KeyError: 't2'", True),
        ("request req_8f2 refused", "request req_17c refused", True),
        ("no module named yaml", "no module named rich", False),
    ],
)
def test_messages_are_compared_without_names_numbers_and_paths(one, other, same):
    assert (normalized_message(one, "t1") == normalized_message(other, "t2")) is same
