import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.rollout.adaptive import (
    AdaptiveOptions,
    AdaptiveProblem,
    Budget,
    EstimateStatus,
    UntilResolved,
    UntilWidth,
    adaptive_policy,
)
from skillsv_bench.estimators import Player, play_adaptive, problem_of
from skillsv_bench.planted import Noise, planted_skill

GAME = planted_skill("mechanism", 3)
PROBLEM = problem_of(GAME)
BOTH = (Operator.DELETE, Operator.PAD)


def options(budget, **more):
    return AdaptiveOptions(stop=Budget(budget), **more)


def drive(walk, answer):
    """Run a policy with a function from a batch of requests to answers."""
    try:
        wanted = next(walk)
        while True:
            wanted = walk.send(answer(wanted))
    except StopIteration as done:
        return done.value


def known(record):
    return {(each.coalition, each.operator, each.task, each.replicate): each.score for each in record.observations}


def replay(record, opts, problem=PROBLEM, *, backwards=False):
    """The same run answered from memory; the answers of a round may come in any order."""
    memory = known(record)

    def answer(wanted):
        requests = reversed(wanted) if backwards else wanted
        return {each: memory[each.coalition, each.operator, each.task, each.replicate] for each in requests}

    return drive(adaptive_policy(problem, opts, 5), answer)


@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5)], ids=["steady", "noisy"])
def test_a_replayed_run_takes_the_same_path_whatever_order_answers_come_in(noise):
    first = play_adaptive(PROBLEM, Player(GAME, noise, 1), options(400), 5)
    assert replay(first, options(400)) == first
    assert replay(first, options(400), backwards=True) == first
    assert first.noisy is bool(noise.temperature)


@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5)], ids=["steady", "noisy"])
def test_a_smaller_budget_is_a_prefix_of_a_larger_one(noise):
    large = play_adaptive(PROBLEM, Player(GAME, noise, 1), options(600), 5)
    for budget in (10, 64, 65, 250):
        small = replay(large, options(budget))
        assert small.observations == large.observations[:budget]
        assert small.ended == f"{budget:,} rollouts"


@settings(max_examples=25, deadline=None)
@given(budget=st.integers(1, 500), seed=st.integers(0, 2**32), lapse=st.sampled_from([0.0, 0.3]))
def test_the_budget_is_never_exceeded_and_all_that_is_asked_is_closed(budget, seed, lapse):
    record = play_adaptive(PROBLEM, Player(GAME, Noise(lapse=lapse), seed), options(budget), seed)
    assert len(record.observations) <= budget
    asked = [(each.coalition, each.operator, each.task, each.replicate) for each in record.observations]
    assert len(set(asked)) == len(asked)
    for each in record.observations:
        assert GAME.compiled.closure(each.coalition) == each.coalition
        assert not each.coalition or GAME.compiled.trigger in each.coalition


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.05, 0.5, 1.0]), noisy=st.booleans())
def test_missing_answers_are_left_out_and_the_run_goes_on(seed, share, noisy):
    player, rng = Player(GAME, Noise(lapse=0.2 * noisy), seed), np.random.default_rng(seed)

    def answer(wanted):
        return {request: None if rng.random() < share else score for request, score in player.answer(wanted).items()}

    record = drive(adaptive_policy(PROBLEM, options(300), seed), answer)
    missing = sum(each.score is None for each in record.observations)
    assert missing > 0
    assert len(record.observations) <= 300
    assert record.ended


def test_every_answer_has_a_reason():
    record = play_adaptive(PROBLEM, Player(GAME, Noise(temperature=1.0), 2), options(400), 2)
    reasons = {each.why for each in record.observations}
    assert {"anchor:trigger", "anchor:full", "anchor:empty", "closed-set"} <= reasons
    assert reasons <= {
        "anchor:trigger",
        "anchor:full",
        "anchor:empty",
        "pattern",
        "verify",
        "bisect",
        "check",
        "repeat",
        "closed-set",
    }


def test_both_operators_share_orders_tasks_and_the_full_skill():
    record = play_adaptive(problem_of(GAME, BOTH), Player(GAME, Noise(), 1, crowding=0.3), options(700), 4)
    by_operator = {operator: set() for operator in BOTH}
    for each in record.observations:
        by_operator[each.operator].add((each.coalition, each.task, each.replicate))
    shared = {pair for pair in by_operator[Operator.DELETE] if pair[0] not in (frozenset(), GAME.compiled.everything)}
    assert by_operator[Operator.PAD] == shared


def test_both_operators_cost_at_most_twice_as_much_where_padding_changes_nothing():
    one = play_adaptive(PROBLEM, Player(GAME, Noise(), 1), options(400), 4)
    two = play_adaptive(problem_of(GAME, BOTH), Player(GAME, Noise(), 1), options(2000), 4)
    paths = [
        [(each.coalition, each.task) for each in record.observations if each.operator is Operator.DELETE]
        for record in (one, two)
    ]
    assert paths[1][: len(paths[0])] == paths[0]
    last = paths[0][-1]
    cost = 1 + max(place for place, each in enumerate(two.observations[:900]) if (each.coalition, each.task) == last)
    assert cost <= 2.2 * len(one.observations)


@pytest.mark.parametrize("seed", range(6))
def test_a_deterministic_agent_is_never_called_noisy(seed):
    game = planted_skill("livemath", seed)
    assert not play_adaptive(problem_of(game), Player(game, Noise(), seed), options(700), seed).noisy


@pytest.mark.parametrize("noise", [Noise(temperature=0.5), Noise(temperature=1.5), Noise(lapse=0.08)])
def test_a_noisy_agent_is_called_noisy(noise):
    game = planted_skill("livemath", 1)
    record = play_adaptive(problem_of(game), Player(game, noise, 1), options(1200), 1)
    assert record.noisy
    assert record.reverts >= 2


def test_noise_that_begins_in_the_middle_is_noticed():
    game = planted_skill("livemath", 2)
    record = play_adaptive(problem_of(game), Player(game, Noise(temperature=0.5), 2, noise_from=800), options(2000), 2)
    first = next(place for place, each in enumerate(record.observations) if each.why == "closed-set")
    assert first > 800


def test_an_agent_that_repeats_itself_but_is_thrown_off_by_any_change_is_called_noisy():
    game = planted_skill("livemath", 2)

    def chaotic(wanted):
        seeds = ([*sorted(request.coalition), request.task] for request in wanted)
        luck = (np.random.default_rng([ord(letter) for word in words for letter in word]).random() for words in seeds)
        return {request: float(number < 0.5) for request, number in zip(wanted, luck, strict=True)}

    assert drive(adaptive_policy(problem_of(game), options(600), 1), chaotic).noisy


def test_a_run_ends_by_itself_when_nothing_is_left_to_ask():
    record = play_adaptive(PROBLEM, Player(GAME, Noise(), 1), options(10**9), 1)
    assert record.ended == "nothing was left to ask"


def test_a_skill_without_units_is_only_anchored():
    problem = AdaptiveProblem(units=(), trigger="m", needs={}, tasks=("a", "b"), sample_order=lambda _: ("m",))
    record = drive(adaptive_policy(problem, options(100), 0), lambda wanted: dict.fromkeys(wanted, 1.0))
    assert record.ended == "there are no units to value"
    assert {each.why for each in record.observations} == {"anchor:trigger", "anchor:full", "anchor:empty"}


def test_rules_of_precision_and_decision_stop_the_run_and_weights_of_the_judge_send_it():
    looks = []
    favourite = PROBLEM.tasks[7]

    def judge(observations):
        looks.append(len(observations))
        done = len(observations) > 350
        return EstimateStatus(width=0.02 if done else 1.0, resolved=0.95 if done else 0.1, tasks={favourite: 1.0})

    rule = (UntilWidth(0.03) & UntilResolved(0.9)) | Budget(2000)
    record = drive_judged(rule, judge)
    assert 350 < len(record.observations) < 500
    assert record.ended == "every interval at most 3 points wide and a verdict on 90% of the units"
    assert looks == sorted(looks)
    late = [each.task for each in record.observations[looks[0] :] if each.why != "anchor:empty"]
    assert late.count(favourite) > 3 * len(late) / len(PROBLEM.tasks)


def drive_judged(rule, judge):
    return play_adaptive(PROBLEM, Player(GAME, Noise(temperature=1.0), 1), AdaptiveOptions(stop=rule, judge=judge), 1)


def test_observations_are_told_round_by_round():
    told = []
    walk = adaptive_policy(PROBLEM, options(200), 3, on_observed=told.extend)
    player = Player(GAME, Noise(), 3)
    record = drive(walk, player.answer)
    assert tuple(told) == record.observations


def test_bad_problems_are_refused():
    with pytest.raises(SettingsError, match="at least one task"):
        AdaptiveProblem(units=("a",), trigger="m", needs={}, tasks=(), sample_order=lambda _: ("m", "a"))
    with pytest.raises(SettingsError, match="deletion"):
        AdaptiveProblem(
            units=("a",), trigger="m", needs={}, tasks=("t",), sample_order=lambda _: ("m",), operators=(Operator.PAD,)
        )
    with pytest.raises(SettingsError, match="too few"):
        AdaptiveOptions(visits=0)
