"""The verifier `all` joins verifiers that compare with a target, and nothing that runs code."""

import pytest

from skillsv.tasks.verifiers.table import TARGET_VERIFIERS, runs_code


@pytest.mark.parametrize(
    "target",
    [
        [],
        "contains",
        [{"verifier": "contains"}],
        [{"verifier": "command:rm", "target": "x"}],
        [{"verifier": "judge", "target": "x"}],
        [{"verifier": "all", "target": [{"verifier": "exact", "target": "x"}]}],
        [{"verifier": "exact", "target": "x", "weight": 2}],
    ],
)
def test_other_parts_are_refused(target):
    assert not runs_code("all")
    with pytest.raises(ValueError, match=r"all|target"):
        TARGET_VERIFIERS["all"](target, "")
