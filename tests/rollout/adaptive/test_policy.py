from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.errors import SettingsError
from skillsv.estimate.adaptive.deciding_pairs import find_deciding_pairs, find_steady_scores
from skillsv.model.coalition import AdaptiveReason, KnownCoalition, Operator
from skillsv.rollout.adaptive import (
    AdaptiveOptions,
    AdaptiveProblem,
    EstimateStatus,
    MaxRollouts,
    UntilResolved,
    UntilWidth,
    adaptive_policy,
)
from skillsv.rollout.adaptive.policy import _Run
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill

GAME = planted_skill("mechanism", 3)
PROBLEM = make_adaptive_problem(GAME)
BOTH = (Operator.DELETE, Operator.PAD)


def options(budget, **more):
    return AdaptiveOptions(stop=MaxRollouts(budget), **more)


def drive(policy, answer):
    """Run a policy with a function from a batch of requests to answers."""
    try:
        wanted = next(policy)
        while True:
            wanted = policy.send(answer(wanted))
    except StopIteration as done:
        return done.value


def scores_of(record):
    return {
        (observation.coalition, observation.operator, observation.task, observation.replicate): observation.score
        for observation in record.observations
    }


def replay(record, opts, problem=PROBLEM, *, backwards=False):
    """The same run with stored answers; the answers of a round may come in any order."""
    stored = scores_of(record)

    def answer(wanted):
        requests = reversed(wanted) if backwards else wanted
        return {
            request: stored[request.coalition, request.operator, request.task, request.replicate]
            for request in requests
        }

    return drive(adaptive_policy(problem, opts, 5), answer)


@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5)], ids=["steady", "noisy"])
def test_a_replayed_run_makes_the_same_requests(noise):
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
        assert small.ended == "the budget of rollouts"


@pytest.mark.heavy
@settings(max_examples=25, deadline=None)
@given(budget=st.integers(1, 500), seed=st.integers(0, 2**32), lapse=st.sampled_from([0.0, 0.3]))
def test_requests_stay_within_the_budget_and_are_closed_coalitions(budget, seed, lapse):
    record = play_adaptive(PROBLEM, Player(GAME, Noise(lapse=lapse), seed), options(budget), seed)
    assert len(record.observations) <= budget
    asked = [
        (observation.coalition, observation.operator, observation.task, observation.replicate)
        for observation in record.observations
    ]
    assert len(set(asked)) == len(asked)
    for observation in record.observations:
        assert GAME.compiled.closure(observation.coalition) == observation.coalition
        assert not observation.coalition or GAME.compiled.trigger in observation.coalition


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.05, 0.5, 1.0]), noisy=st.booleans())
def test_a_run_continues_when_answers_are_missing(seed, share, noisy):
    player, rng = Player(GAME, Noise(lapse=0.2 * noisy), seed), np.random.default_rng(seed)

    def answer(wanted):
        return {request: None if rng.random() < share else score for request, score in player.answer(wanted).items()}

    record = drive(adaptive_policy(PROBLEM, options(300), seed), answer)
    missing = sum(observation.score is None for observation in record.observations)
    assert missing > 0
    assert len(record.observations) <= 300
    assert record.ended


def test_every_observation_has_a_reason():
    record = play_adaptive(PROBLEM, Player(GAME, Noise(temperature=1.0), 2), options(400), 2)
    reasons = {observation.why for observation in record.observations}
    assert {"anchor:trigger", "anchor:full", "anchor:empty", AdaptiveReason.CLOSED_SET} <= reasons
    assert reasons <= set(AdaptiveReason)


def test_records_store_the_reasons_under_these_names():
    assert {reason.value for reason in AdaptiveReason} == {
        "anchor:trigger",
        "anchor:full",
        "anchor:null-change",
        "anchor:empty",
        "pattern",
        "verify",
        "sample",
        "bisect",
        "check",
        "repeat",
        "known",
        "prior",
        "closed-set",
        "noisy-task",
    }


@pytest.mark.parametrize("noise", [Noise(), Noise(temperature=0.5)], ids=["steady", "noisy"])
def test_known_coalitions_are_asked_for_right_after_the_anchors(noise):
    first = play_adaptive(PROBLEM, Player(GAME, noise, 4), options(300), 4)
    known = tuple(
        KnownCoalition(task=item.task, coalition=item.coalition)
        for item in first.observations
        if 1 < len(item.coalition) <= len(PROBLEM.units)
    )
    record = play_adaptive(PROBLEM, Player(GAME, noise, 4), options(400, known=known), 9)
    anchors = next(place for place, item in enumerate(record.observations) if "anchor" not in item.why)
    asked = record.observations[anchors : anchors + len(known)]
    assert {item.why for item in asked} == {AdaptiveReason.KNOWN}
    assert Counter((item.task, item.coalition) for item in asked) == Counter(
        (item.task, item.coalition) for item in known
    )
    assert len({(item.task, item.coalition, item.replicate) for item in record.observations}) == len(
        record.observations
    ), "no rollout is asked for twice"
    assert not any(item.why == AdaptiveReason.KNOWN for item in record.observations[anchors + len(known) :])


def prior_pairs():
    first = play_adaptive(PROBLEM, Player(GAME, Noise(), 4), options(300), 4)
    return find_deciding_pairs(GAME.compiled, first.observations)


def test_a_steady_agent_is_asked_first_where_another_agents_scores_changed():
    pairs = prior_pairs()
    record = play_adaptive(PROBLEM, Player(GAME, Noise(), 4), options(400, prior=pairs), 9)
    anchors = next(place for place, item in enumerate(record.observations) if "anchor" not in item.why)
    asked = record.observations[anchors : anchors + len(pairs)]
    assert {item.why for item in asked} == {AdaptiveReason.PRIOR}
    assert [(item.task, item.coalition) for item in asked] == [(item.task, item.coalition) for item in pairs]


def test_a_noisy_agent_is_not_asked_where_another_agents_scores_changed():
    record = play_adaptive(PROBLEM, Player(GAME, Noise(temperature=0.5), 4), options(400, prior=prior_pairs()), 9)
    assert record.noisy
    assert not any(item.why == AdaptiveReason.PRIOR for item in record.observations)


def earlier_scores():
    first = play_adaptive(PROBLEM, Player(GAME, Noise(), 4), options(300), 4)
    return (find_steady_scores(first.observations),)


@pytest.mark.parametrize("problem", [PROBLEM, make_adaptive_problem(GAME, BOTH)], ids=["delete", "both operators"])
def test_what_an_earlier_agent_showed_as_well_is_neither_repeated_nor_searched(problem):
    known = options(500, earlier_scores=earlier_scores())
    record = play_adaptive(problem, Player(GAME, Noise(), 4), known, 9)
    anchors = next(place for place, item in enumerate(record.observations) if "anchor" not in item.why)
    asked = [place for place, item in enumerate(record.observations) if item.why == AdaptiveReason.PRIOR]
    assert asked == list(range(anchors, anchors + len(asked)))
    alone = play_adaptive(problem, Player(GAME, Noise(), 4), options(500), 9)
    bisections, without = (
        sum(item.why == AdaptiveReason.BISECT for item in one.observations) for one in (record, alone)
    )
    assert bisections < without / 3


def test_a_task_whose_scores_an_earlier_agent_forecasts_counts_as_searched_once():
    (earlier,) = earlier_scores()
    unlike = set(PROBLEM.tasks[:3])
    told = tuple(replace(item, score=1.0 - item.score) if item.task in unlike else item for item in earlier)
    run = _Run(PROBLEM, options(200, earlier_scores=(told,)), 5, None)

    def steps():
        yield from run.score_anchors()
        yield from run.score_suggestions()

    player = Player(GAME, Noise(), 4)
    drive(steps(), player.answer)
    settled = [table.conflict is None for table in run.tables]
    assert sum(settled) > len(unlike)
    held = [task not in unlike and one for task, one in zip(PROBLEM.tasks, settled, strict=True)]
    assert run.rounds.tolist() == [int(one) for one in held]


def test_a_run_with_earlier_scores_depends_on_answers_and_not_on_their_order_or_the_budget():
    earlier = earlier_scores()
    long = play_adaptive(PROBLEM, Player(GAME, Noise(), 4), options(400, earlier_scores=earlier), 5)
    assert replay(long, options(400, earlier_scores=earlier), backwards=True).observations == long.observations
    short = replay(long, options(250, earlier_scores=earlier))
    assert short.observations == long.observations[:250]


def test_a_noisy_agent_is_not_asked_what_earlier_scores_suggest():
    noisy = options(400, earlier_scores=earlier_scores())
    record = play_adaptive(PROBLEM, Player(GAME, Noise(temperature=0.5), 4), noisy, 9)
    assert record.noisy
    assert not any(item.why == AdaptiveReason.PRIOR for item in record.observations)


def test_both_operators_share_orders_tasks_and_the_full_skill():
    record = play_adaptive(make_adaptive_problem(GAME, BOTH), Player(GAME, Noise(), 1, crowding=0.3), options(700), 4)
    by_operator = {operator: set() for operator in BOTH}
    for observation in record.observations:
        by_operator[observation.operator].add((observation.coalition, observation.task, observation.replicate))
    shared = {pair for pair in by_operator[Operator.DELETE] if pair[0] not in (frozenset(), GAME.compiled.everything)}
    assert by_operator[Operator.PAD] == shared


@pytest.mark.heavy
def test_both_operators_cost_at_most_about_twice_as_much():
    one = play_adaptive(PROBLEM, Player(GAME, Noise(), 1), options(400), 4)
    two = play_adaptive(make_adaptive_problem(GAME, BOTH), Player(GAME, Noise(), 1), options(2000), 4)
    paths = [
        [
            (observation.coalition, observation.task)
            for observation in record.observations
            if observation.operator is Operator.DELETE
        ]
        for record in (one, two)
    ]
    assert paths[1][: len(paths[0])] == paths[0]
    last = paths[0][-1]
    cost = 1 + max(
        place
        for place, observation in enumerate(two.observations[:900])
        if (observation.coalition, observation.task) == last
    )
    assert cost <= 2.2 * len(one.observations)


@pytest.mark.parametrize("seed", range(6))
def test_a_deterministic_agent_is_never_called_noisy(seed):
    game = planted_skill("livemath", seed)
    assert not play_adaptive(make_adaptive_problem(game), Player(game, Noise(), seed), options(700), seed).noisy


@pytest.mark.parametrize("noise", [Noise(temperature=0.5), Noise(temperature=1.5), Noise(lapse=0.08)])
def test_a_noisy_agent_is_called_noisy(noise):
    game = planted_skill("livemath", 1)
    record = play_adaptive(make_adaptive_problem(game), Player(game, noise, 1), options(1200), 1)
    assert record.noisy
    first = next(place for place, observation in enumerate(record.observations) if observation.agent_is_noisy)
    assert first <= 3 * len(game.tasks), "the first batch shows it"


def test_noise_that_begins_during_a_run_is_detected():
    game = planted_skill("livemath", 2)
    record = play_adaptive(
        make_adaptive_problem(game), Player(game, Noise(temperature=0.5), 2, noise_from=800), options(2000), 2
    )
    first = next(place for place, observation in enumerate(record.observations) if observation.agent_is_noisy)
    assert first > 800


def test_an_agent_that_reacts_to_any_change_is_called_noisy():
    game = planted_skill("livemath", 2)

    def chaotic(wanted):
        seeds = ([*sorted(request.coalition), request.task, str(request.null_change)] for request in wanted)
        numbers = (
            np.random.default_rng([ord(letter) for word in words for letter in word]).random() for words in seeds
        )
        return {request: float(number < 0.5) for request, number in zip(wanted, numbers, strict=True)}

    record = drive(adaptive_policy(make_adaptive_problem(game), options(600), 1), chaotic)
    assert record.noisy
    first = next(place for place, observation in enumerate(record.observations) if observation.agent_is_noisy)
    assert first <= 3 * len(game.tasks)


def test_the_first_batch_scores_the_full_skill_under_a_null_change_on_every_task():
    policy = adaptive_policy(PROBLEM, options(400), 1)
    batch = next(policy)
    changed = [request for request in batch if request.null_change]
    assert {request.task for request in changed} == {request.task for request in batch}
    assert all(request.coalition == GAME.compiled.everything for request in changed)
    assert len({request.task for request in batch}) == len(batch) // 3


def test_a_single_noisy_task_does_not_make_the_agent_noisy():
    game, flips = planted_skill("livemath", 3), np.random.default_rng(1)
    player, noisy_task = Player(game, Noise(), 3), game.tasks[5].id

    def answer(wanted):
        scores = player.answer(wanted)
        return {one: float(flips.random() < 0.5) if one.task == noisy_task else score for one, score in scores.items()}

    record = drive(adaptive_policy(make_adaptive_problem(game), options(900), 3), answer)
    assert not record.noisy
    alone = [observation for observation in record.observations if observation.why == AdaptiveReason.NOISY_TASK]
    assert {observation.task for observation in alone} == {noisy_task}
    assert len(alone) >= 5


def test_repeats_during_the_run_are_null_changes_and_plain_repeats():
    record = play_adaptive(PROBLEM, Player(GAME, Noise(), 1), options(600), 5)
    repeats = [observation for observation in record.observations if observation.why == "repeat"]
    assert {bool(observation.null_change) for observation in repeats} == {True, False}


@pytest.mark.heavy
def test_a_run_ends_when_nothing_is_left_to_ask():
    record = play_adaptive(PROBLEM, Player(GAME, Noise(), 1), options(10**9), 1)
    assert record.ended == "nothing was left to ask"


def test_a_skill_without_units_gets_only_anchors():
    problem = AdaptiveProblem(units=(), trigger="m", needs={}, tasks=("a", "b"), sample_order=lambda _: ("m",))
    record = drive(adaptive_policy(problem, options(100), 0), lambda wanted: dict.fromkeys(wanted, 1.0))
    assert record.ended == "there are no units to value"
    assert {observation.why for observation in record.observations} == {"anchor:trigger", "anchor:full", "anchor:empty"}


def test_the_estimate_status_stops_the_run_and_directs_rollouts():
    status_at = []
    preferred = PROBLEM.tasks[7]

    def status(observations):
        status_at.append(len(observations))
        done = len(observations) > 350
        return EstimateStatus(width=0.02 if done else 1.0, resolved=0.95 if done else 0.1, tasks={preferred: 1.0})

    rule = (UntilWidth(0.03) & UntilResolved(0.9)) | MaxRollouts(2000)
    record = play_with_status(rule, status)
    assert 350 < len(record.observations) < 500
    assert record.ended == "every interval at most 3 points wide and a verdict on 90% of the units"
    assert status_at == sorted(status_at)
    late = [
        observation.task for observation in record.observations[status_at[0] :] if observation.why != "anchor:empty"
    ]
    assert late.count(preferred) > 3 * len(late) / len(PROBLEM.tasks)


def play_with_status(rule, status):
    return play_adaptive(
        PROBLEM, Player(GAME, Noise(temperature=1.0), 1), AdaptiveOptions(stop=rule, estimate_status=status), 1
    )


def test_observations_are_reported_round_by_round():
    reported = []
    policy = adaptive_policy(PROBLEM, options(200), 3, on_observed=reported.extend)
    player = Player(GAME, Noise(), 3)
    record = drive(policy, player.answer)
    assert tuple(reported) == record.observations


def test_bad_problems_raise_an_error():
    with pytest.raises(SettingsError, match="at least one task"):
        AdaptiveProblem(units=("a",), trigger="m", needs={}, tasks=(), sample_order=lambda _: ("m", "a"))
    with pytest.raises(SettingsError, match="deletion"):
        AdaptiveProblem(
            units=("a",), trigger="m", needs={}, tasks=("t",), sample_order=lambda _: ("m",), operators=(Operator.PAD,)
        )
    with pytest.raises(SettingsError, match="too few"):
        AdaptiveOptions(tasks_per_round=0)
