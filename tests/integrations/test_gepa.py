"""The selection strategy for GEPA with a state of a few numbers: what is due, what is charged, what a resumed run knows."""

from types import SimpleNamespace

import pytest

from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import GrowthGame

pytest.importorskip("gepa", reason="needs the package gepa (pip install 'skillsv[gepa]')")

from skillsv.integrations.gepa import PruneAndConfirm

GAME = GrowthGame(seed=1, topics=6)
LINES = "# Rules\n\n" + "".join(
    f"- [helps-{topic}-1] Rule of topic {topic}.\n- [dead-{topic}-2] Remark of topic {topic}.\n" for topic in (3, 4, 5)
)


class State(SimpleNamespace):
    """What the strategy reads of GEPA's state, and its count of metric calls."""

    def __init__(self, calls):
        super().__init__(total_num_evals=calls, program_candidates=[{"skill": ""}])

    def increment_evals(self, count):
        self.total_num_evals += count


class TakeAll:
    """Accepts every proposal."""

    def select(self, proposals, _state, _criterion):
        return proposals


def proposal(text):
    return SimpleNamespace(candidate={"skill": text}, parent_program_ids=[0])


def strategy(**policy):
    def score(candidate, example):
        return GAME.score(candidate["skill"], example)

    chosen = PrunePolicy(**{"budget": 300, "share": 0.25, "jobs": 1, **policy})
    return PruneAndConfirm(score, GAME.examples("train", 120), chosen, inner=TakeAll())


def propose(pruning, state, text=LINES):
    (selected,) = pruning.select([proposal(text)], state, None)
    return selected.candidate["skill"]


@pytest.mark.heavy
def test_a_pruning_that_cannot_be_paid_for_stays_due():
    pruning, state = strategy(every=2), State(600)
    assert propose(pruning, state) == LINES, "the second accepted edit is the first that is due"
    assert pruning.results == []
    assert propose(pruning, state) == LINES
    assert [result.postponed for result in pruning.results] == [True]
    assert state.total_num_evals == 600
    state.total_num_evals = 900
    assert "dead" not in propose(pruning, state)
    assert state.total_num_evals == 900 + pruning.pruner.rollouts
    assert propose(pruning, state, LINES + "- one more\n").endswith("- one more\n"), "counted from the last pruning"


def test_a_resumed_run_knows_what_it_spent_and_what_is_due():
    first, state = strategy(every=2), State(900)
    propose(first, state)
    resumed = strategy(every=2)
    assert "dead" not in propose(resumed, state), "the edit before the kill counts"
    spent, again = resumed.pruner.rollouts, strategy(every=1)
    assert propose(again, state, LINES + "- one more\n").endswith("- one more\n")
    assert again.pruner.rollouts == spent
    assert again.results[0].postponed
    assert f"after 900 metric calls of the optimizer and {spent} of pruning" in again.results[0].note


@pytest.mark.heavy
def test_rollouts_that_are_not_charged_do_not_count_as_calls_of_gepa():
    pruning, state = strategy(every=1, charge=False), State(900)
    propose(pruning, state)
    assert state.total_num_evals == 900
    assert pruning.pruner.own_calls == 900
    pruning.shorten({"skill": LINES})
    assert pruning.pruner.own_calls == 900


def test_the_last_pruning_stays_within_the_total():
    pruning, state = strategy(every=100, total=1000, budget=200, least_budget=100), State(0)
    propose(pruning, state)
    state.total_num_evals = 950
    assert pruning.shorten({"skill": LINES}) == {"skill": LINES}
    assert pruning.results[-1].postponed


def test_values_are_bought_for_feedback_once_the_calls_so_far_pay_for_them():
    pruning, state = strategy(every=100), State(900)
    assert pruning.describe({"skill": LINES}, "skill", spend=True) == ""
    assert pruning.pruner.rollouts == 0
    propose(pruning, state)
    assert pruning.describe({"skill": LINES}, "skill") == ""
    assert "helps-3-1" in pruning.describe({"skill": LINES}, "skill", spend=True)
    assert pruning.pruner.rollouts > 0


def test_gepa_may_go_on_for_longer_where_the_agent_is_noisy():
    pruning = strategy(total=3000, budget=800, share=0.3, noisy_budget=500)
    assert [pruning.is_over(State(calls)) for calls in (2199, 2200)] == [False, True]
    pruning.pruner.noisy = True
    assert [pruning.is_over(State(calls)) for calls in (2200, 2499, 2500)] == [False, False, True]
    uncharged = strategy(total=3000, budget=800, share=0.3, charge=False)
    uncharged.pruner.rollouts = 400
    assert [uncharged.is_over(State(calls)) for calls in (1799, 1800)] == [False, True]


def test_a_resumed_run_knows_that_the_agent_is_noisy():
    pruning, state = strategy(every=1), State(900)
    pruning._score = lambda candidate, example: GrowthGame(seed=1, topics=6, flips=0.3).score(
        candidate["skill"], example
    )
    assert propose(pruning, state) == LINES
    assert pruning.pruner.noisy
    resumed = strategy(every=1)
    assert propose(resumed, state) == LINES
    assert resumed.pruner.noisy
    assert resumed.pruner.rollouts == pruning.pruner.rollouts, "nothing more is spent while GEPA runs"
    del state.skillsv_pruning
    state.skillsv_pruning = (100, 0)
    earlier = strategy(every=100)
    propose(earlier, state)
    assert (earlier.pruner.rollouts, earlier.pruner.noisy) == (100, False), "a state of an earlier release"
