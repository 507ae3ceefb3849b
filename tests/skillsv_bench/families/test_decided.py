"""The study behind the table of `skillsv plan`."""

import pytest

from skillsv_bench.families.decided import BUDGETS, measure


def test_a_deterministic_agent_gets_more_verdicts_with_more_rollouts():
    cells = list(measure(15, 20, "deterministic", kinds=("sparse",)))
    assert [cell.budget for cell in cells] == list(BUDGETS)
    assert 0 <= cells[0].share <= cells[-1].share <= 1
    assert cells[-1].share > 0.5


@pytest.mark.heavy
def test_verdicts_on_an_agent_that_is_not_known_to_be_noisy_do_not_count():
    assert next(measure(15, 40, "noisy", kinds=("sparse",))).share == 0.0
