"""Rounds of a recorded size: several are asked for at the same time, and the path follows from the answers alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from skillsv.model.coalition import AdaptiveReason
from skillsv.model.task_table import TaskTable
from skillsv.rollout.adaptive import (
    FINISHED,
    AdaptiveOptions,
    MaxRollouts,
    adaptive_policy,
    choose_live_searches,
    choose_round_size,
)
from skillsv.rollout.adaptive.rolling_searches import RollingSearches
from skillsv_bench.estimators import Player, make_adaptive_problem, play_adaptive
from skillsv_bench.planted import Noise, planted_skill

GAME = planted_skill("mechanism", 3)
PROBLEM = make_adaptive_problem(GAME)
STEADY, NOISY = Noise(), Noise(temperature=0.5)
SIZE = 32


def options(budget, **more):
    return AdaptiveOptions(stop=MaxRollouts(budget), **{"round_size": SIZE, **more})


def key_of(request):
    return request.coalition, request.operator, request.task, request.replicate


class Drive:
    """Drives a policy. Every request gets its score when it starts: those asked for ahead, before they are awaited."""

    def __init__(self, answer, budget=500, *, start_ahead=True, **more):
        self.started, self.together = [], []
        scores, awaited = {}, set()
        policy = adaptive_policy(PROBLEM, options(budget, **more), 5)
        try:
            batch = next(policy)
            while True:
                for request in (*batch, *(batch.ahead if start_ahead else ())):
                    if request not in scores and request not in awaited:
                        scores[request] = answer(request, len(self.started))
                        self.started.append(key_of(request))
                self.together.append([request for request in scores if request.why not in {"repeat", "noisy-task"}])
                awaited.update(batch)
                batch = policy.send({request: scores.pop(request) for request in batch})
        except StopIteration as done:
            self.record = done.value
        self.left = scores


def rule(noise):
    """Scores that depend on the request alone, by the answers of a played run and of its repeats."""
    player = Player(GAME, noise, 1)
    known = {}

    def answer(request, _number):
        if key_of(request) not in known:
            known[key_of(request)] = player.answer([request])[request]
        return known[key_of(request)]

    return answer


@pytest.mark.parametrize("noise", [STEADY, NOISY], ids=["steady", "noisy"])
def test_a_path_is_the_same_whether_requests_start_ahead_or_not(noise):
    answer = rule(noise)
    ahead, in_turn = Drive(answer), Drive(answer, start_ahead=False)
    assert ahead.record == in_turn.record
    assert ahead.record.noisy is (noise is NOISY)
    assert not ahead.left, "what was asked for ahead is waited for"


@pytest.mark.parametrize("noise", [STEADY, NOISY], ids=["steady", "noisy"])
def test_a_smaller_budget_asks_for_the_beginning_of_a_larger_one(noise):
    answer = rule(noise)
    large = Drive(answer, 600).record
    for budget in (10, 64, 250, 251):
        small = Drive(answer, budget).record
        assert small.observations == large.observations[:budget]
        assert small.ended == "the budget of rollouts"


def test_two_rounds_of_a_noisy_agent_are_in_flight():
    drive = Drive(rule(NOISY), 500)
    closed = [sum(request.why == AdaptiveReason.CLOSED_SET for request in batch) for batch in drive.together]
    assert max(closed) == 2 * SIZE
    assert len(drive.record.observations) == 500


def test_choices_for_a_noisy_agent_depend_on_answers_two_rounds_before():
    base, changed_from = rule(NOISY), 300
    plain = Drive(base, 500).started
    turned = Drive(lambda request, number: base(request, number) if number < changed_from else 1.0, 500).started
    assert turned[: changed_from + 2 * SIZE - 8] == plain[: changed_from + 2 * SIZE - 8]
    assert turned != plain, "later choices do depend on them"


def test_searches_run_on_different_tasks_at_the_same_time():
    drive = Drive(rule(STEADY), 500, agent="deterministic")
    live = AdaptiveOptions(round_size=SIZE).count_searches(len(PROBLEM.tasks))
    searching = [
        [request.task for request in batch if not request.why.startswith("anchor")] for batch in drive.together
    ]
    assert all(len(set(tasks)) == len(tasks) <= live for tasks in searching)
    assert max(map(len, searching)) > live // 2


def test_all_tasks_are_searched_and_the_bare_agent_is_scored():
    record = Drive(rule(STEADY), 800).record
    assert {item.task for item in record.observations if item.why == AdaptiveReason.VERIFY} >= set(PROBLEM.tasks[:3])
    bare = [item.task for item in record.observations if not item.coalition]
    assert sorted(bare) == sorted(PROBLEM.tasks)


def test_a_run_ends_when_nothing_is_left_to_ask():
    game = planted_skill("mechanism", 0)
    problem = make_adaptive_problem(game)
    small = type(problem)(
        units=problem.units[:2],
        trigger=problem.trigger,
        needs={},
        tasks=problem.tasks[:3],
        sample_order=lambda rng: (problem.trigger, *(problem.units[place] for place in rng.permutation(2).tolist())),
    )
    player = Player(game, STEADY, 1)
    assert play_adaptive(small, player, options(10_000), 1).ended == FINISHED


def test_noise_that_shows_late_turns_searches_into_closed_coalitions():
    noisy = rule(Noise(lapse=0.4))
    steady = rule(STEADY)
    record = Drive(lambda request, number: (steady if number < 250 else noisy)(request, number), 900).record
    first = next(place for place, item in enumerate(record.observations) if item.agent_is_noisy)
    assert first > 250
    assert record.noisy


def test_a_task_that_is_noisy_alone_gets_closed_coalitions():
    steady, noisy = rule(STEADY), rule(Noise(lapse=0.5))
    one = PROBLEM.tasks[0]
    drive = Drive(lambda request, number: (noisy if request.task == one else steady)(request, number), 900)
    assert {item.task for item in drive.record.observations if item.why == AdaptiveReason.NOISY_TASK} == {one}
    assert not drive.record.noisy


def test_round_sizes_and_searches_grow_with_jobs_up_to_a_share_of_tasks():
    assert [choose_round_size(jobs) for jobs in (1, 8, 12, 64, 256)] == [24, 24, 24, 128, 512]
    assert [choose_live_searches(jobs, 60, 1600) for jobs in (1, 8, 12, 32, 64, 256)] == [16, 16, 24, 32, 40, 40]
    assert [choose_live_searches(8, tasks, 1600) for tasks in (1, 10, 30, 100)] == [1, 6, 12, 16]
    assert [choose_live_searches(8, 30, rollouts) for rollouts in (300, 359, 360)] == [None, None, 12]


@pytest.mark.parametrize(("size", "searches"), [(None, None), (24, None), (32, 24), (64, 32), (128, 40)])
def test_runs_that_recorded_no_searches_keep_their_number(size, searches):
    assert AdaptiveOptions(round_size=size).count_searches(60) == searches
    assert AdaptiveOptions(round_size=size, live_searches=7).count_searches(60) == 7


def test_recorded_searches_roll_in_small_rounds_and_none_wait():
    answer = rule(STEADY)
    waiting = Drive(answer, 300, round_size=None).record
    assert Drive(answer, 300, round_size=24).record == waiting
    rolling = Drive(answer, 300, round_size=24, live_searches=16)
    assert rolling.record != waiting
    assert rolling.record == Drive(answer, 300, round_size=24, live_searches=16, start_ahead=False).record


def test_the_bare_agent_waits_until_a_search_has_ended_on_every_task(monkeypatch):
    def may_be_asked(searched, live_searches=2):
        run = SimpleNamespace(options=options(9, live_searches=live_searches), rounds=np.array([1, 1, 2]))
        searches = RollingSearches(run, 2)
        searches._searched |= searched
        return searches._bare_may_be_asked()

    assert [may_be_asked(searched) for searched in (set(), {0}, {2}, {1, 2})] == [True, False, True, False]
    assert may_be_asked({0}, live_searches=None), "a run that recorded no searches keeps its path"
    monkeypatch.setattr(RollingSearches, "_bare_may_be_asked", lambda self: False)
    record = Drive(rule(STEADY), 800, live_searches=24, agent="deterministic").record
    assert all(item.coalition for item in record.observations)


def test_no_task_is_chosen_twice_in_a_turn_of_searches():
    run = SimpleNamespace(
        options=options(9, live_searches=2, tasks_per_round=3),
        rounds=np.array([9, 9, 9, 9]),
        tables=[TaskTable() for _ in range(4)],
        monitor=SimpleNamespace(noisy_tasks=frozenset()),
        rng=np.random.default_rng(0),
        weights=lambda: None,
    )
    searches = RollingSearches(run, 2)
    for _ in range(5):
        turn = [searches._choose(1)[0] for _ in range(3)]
        assert len(set(turn)) == 3
