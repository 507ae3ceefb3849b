"""The adaptive policy: anchors, then task searches, or random closed coalitions once the agent proves noisy.

The policy works in rounds. The requests of a round depend only on the seed and on the answers to earlier rounds. They
do not depend on the budget: a run with a larger budget continues where the smaller one ended. The first batch scores
{m}, the full skill, and the full skill under a null change, so noise is known before any unit is searched for.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

import numpy as np

from skillsv.model.coalition import AdaptiveReason
from skillsv.model.forecast_table import merge_agents
from skillsv.model.task_table import Mask, Score, TaskTable
from skillsv.rollout.adaptive.allocation import choose_noisy_tasks, choose_search_tasks
from skillsv.rollout.adaptive.earlier_agents import TaskSuggestions
from skillsv.rollout.adaptive.problem import FINISHED, AdaptiveOptions, AdaptiveProblem, AdaptiveRecord
from skillsv.rollout.adaptive.rolling_searches import IDLE_ROUNDS, RollingSearches
from skillsv.rollout.adaptive.run_state import IssuedBatch, OnObserved, Rounds, RunState, TaskRequest
from skillsv.rollout.adaptive.task_panel import FIRST_TASKS, noisy_panel_size
from skillsv.rollout.adaptive.task_search import CoalitionRequest, TaskSearch, next_request, search_task
from skillsv.rollout.chain_policy import Policy
from skillsv.rollout.noise_check import noise_among

ROUNDS_IN_FLIGHT = 2
"""Noisy agent: rounds that are asked for at the same time, so that slots have work while a round's last ones run."""

PARTS = 4
"""Noisy agent: parts of a round. Each part is chosen when the one two rounds before it has all its answers."""

LEAST_PART = 6
"""Noisy agent: rollouts of a part at least."""


def adaptive_policy(
    problem: AdaptiveProblem, options: AdaptiveOptions, seed: int, *, on_observed: OnObserved | None = None
) -> Policy[AdaptiveRecord]:
    """Request the most informative rollouts until the stop rule holds. `on_observed` gets each round's observations."""
    run, searches = _Run(problem, options, seed, on_observed), options.count_searches(len(problem.tasks))
    yield from run.score_anchors()
    yield from run.score_known()
    yield from run.score_prior()
    yield from run.score_suggestions()
    while not run.ended:
        if options.round_size is not None and problem.units and run.noisy:
            yield from run.score_rounds(options.round_size)
        elif searches is not None and problem.units:
            yield from RollingSearches(run, searches).search()
        elif run.bare_is_due:
            yield from run.score_bare_agent()
        elif run.noisy:
            yield from run.score_closed_sets()
        else:
            yield from run.search_tasks()
    return AdaptiveRecord(
        observations=tuple(run.observations),
        noisy=run.noisy,
        ended=run.ended,
        noise=noise_among(run.observations),
        neighbours=len(run.monitor.neighbours),
        reverts=sum(run.monitor.neighbours),
        panel=len(problem.tasks),
    )


class _Run(RunState):
    """The steps of a run, on the state that they share."""

    def score_anchors(self) -> Rounds:
        """Score {m}, N and N under a null change: on the first tasks, then on the others unless the agent is noisy."""
        unknown = self.options.agent == "unknown" and self.options.null_anchors
        first = len(self.task_order) if self.options.agent == "deterministic" else FIRST_TASKS
        for tasks in (self.task_order[:first], self.task_order[first:]):
            if tasks and not self.ended and not (self.noisy and self.joined):
                batch = self.join(tasks, null_change=unknown)
                self.keep_anchors(batch, (yield from self.ask(batch)))
                self.noisy = self.noisy or self.monitor.noisy

    def score_known(self) -> Rounds:
        """Ask for what an earlier run has scored: searches begin from there. A coalition named again is a repeat."""
        known = [(self.problem.tasks.index(item.task), self._mask(item.coalition)) for item in self.options.known]
        why = dict(zip(reversed(known), (item.why for item in reversed(self.options.known)), strict=True))
        firsts = list(dict.fromkeys(place for place in known if place[1] not in (0, self.full)))
        again = [place for place, number in Counter(known).items() for _ in range(number - 1) if place in set(firsts)]
        requests = [
            [(task, CoalitionRequest(mask=mask, why=why[task, mask])) for task, mask in firsts],
            [(task, CoalitionRequest(mask=mask, why=AdaptiveReason.KNOWN)) for task, mask in again],
        ]
        scores = yield from self.ask(*requests)
        self.scored -= len(firsts)  # repeats are drawn for what this run pays
        for (task, mask), score in zip(firsts, scores, strict=False):
            if score is not None:
                self.tables[task].add(mask, score)
        for task, mask in self.compare_repeats(requests[1], scores[len(firsts) :]):
            if mask in self.tables[task].scores:
                self.tables[task].remove(mask)
        if any(not item.coalition for item in self.options.known):
            yield from self.score_bare_agent()

    def score_prior(self) -> Rounds:
        """Ask for the coalitions at which another agent's scores changed: conflicts there need hardly any search."""
        if self.noisy or self.ended:
            return
        places = [(self.problem.tasks.index(item.task), self._mask(item.coalition)) for item in self.options.prior]
        yield from self._score_new(
            [place for place in dict.fromkeys(places) if place[1] not in self.tables[place[0]].scores]
        )

    def score_suggestions(self) -> Rounds:
        """Ask where the tables of earlier agents say that a unit decides; what holds for this agent, too, is kept.

        A change of the score that an earlier agent had in the same place is no surprise: it needs no repeat, and its
        unit no search. A task on which all of an earlier agent's forecasts hold counts as searched once, by that agent.
        """
        if self.noisy or not self.options.earlier_scores:
            return
        suggestions = self._suggestions()
        while not self.ended:
            new = [
                (task, mask)
                for task in self.task_order
                for mask in suggestions[task].next_coalitions(self.tables[task].scores, self.needed)
            ]
            if not new:
                break
            yield from self._score_new(new)
        for task, (mine, table) in enumerate(zip(suggestions, self.tables, strict=True)):
            units = mine.shared_units(table.scores)
            if units:
                table.add_deciding(units)
            if table.conflict is None and mine.holds(table.scores):
                self.rounds[task] += 1

    def _suggestions(self) -> list[TaskSuggestions]:
        """For each task the tables of the earlier agents."""
        everything = {self.problem.trigger, *self.problem.units}
        agents: list[dict[str, dict[Mask, float]]] = []
        for agent in self.options.earlier_scores:
            agents.append({task: {} for task in self.problem.tasks})
            for item in agent:
                if item.task in agents[-1] and item.coalition <= everything:
                    agents[-1][item.task][self._mask(item.coalition)] = item.score
        return [TaskSuggestions(merge_agents(agent[task] for agent in agents)) for task in self.problem.tasks]

    def _score_new(self, new: Sequence[tuple[int, Mask]]) -> Rounds:
        """Score coalitions that another agent's scores name, and keep the scores in the tables."""
        scores = yield from self.ask(
            [(task, CoalitionRequest(mask=mask, why=AdaptiveReason.PRIOR)) for task, mask in new]
        )
        for (task, mask), score in zip(new, scores, strict=False):
            if score is not None:
                self.tables[task].add(mask, score)

    def score_bare_agent(self) -> Rounds:
        """Score the bare agent on every task that has joined."""
        yield from self.ask(self.bare_requests())
        if not self.problem.units:
            self.ended = self.ended or "there are no units to value"

    def search_tasks(self) -> Rounds:
        """Search different tasks for their deciding units, all at the same time: one round for a steady agent.

        A task that proved noisy is not searched. It gets one random closed coalition a round.
        """
        before = self.searched
        live: list[tuple[int, TaskSearch, CoalitionRequest]] = []
        units = self.unit_findings()
        noisy_tasks = sorted(self.monitor.noisy_tasks)
        for task in self.choose_steady_tasks(noisy_tasks):
            rng = np.random.default_rng(self.rng.integers(2**63))
            search = search_task(self.tables[task], self.pool, rng, self.monitor.of_task(task), units)
            self.rounds[task] += 1
            _advance(live, task, search, None)
        repeats = self.draw_repeats() if live else []
        closed_sets = [self.closed_set(task, AdaptiveReason.NOISY_TASK) for task in noisy_tasks] if live else []
        differing: list[tuple[int, Mask]] = []
        while live and not self.ended:
            waiting, live = live, []
            requests = [(task, request) for task, _, request in waiting]
            scores = yield from self.ask(requests, [*repeats, *closed_sets])
            differing += self.compare_repeats(repeats, scores[len(waiting) :])
            repeats = closed_sets = []
            for (task, search, _), score in zip(waiting, scores, strict=False):
                _advance(live, task, search, score)
        for _, search, _ in live:
            search.close()
        for task, mask in differing:  # only now: a running search may still read the score
            if mask in self.tables[task].scores:
                self.tables[task].remove(mask)
        for task in self.monitor.noisy_tasks:
            self.tables[task] = TaskTable()
        self.noisy = self.options.agent == "unknown" and self.monitor.noisy
        self.idle = self.idle + 1 if self.searched == before else 0
        if self.idle >= IDLE_ROUNDS:
            self.ended = FINISHED

    def choose_steady_tasks(self, noisy_tasks: Sequence[int]) -> list[int]:
        """The tasks to search in this round, without those that proved noisy."""
        steady = np.array([task for task in range(len(self.tables)) if task not in noisy_tasks], dtype=np.int64)
        self.rounds[list(noisy_tasks)] += 1
        if not len(steady):
            return []
        weights, count = self.weights(), min(self.options.tasks_per_round, len(steady))
        tables = [self.tables[task] for task in steady]
        chosen = choose_search_tasks(
            tables, self.rounds[steady], None if weights is None else weights[steady], count, self.rng
        )
        return [int(steady[place]) for place in chosen]

    def score_closed_sets(self) -> Rounds:
        """Score random closed coalitions: one round for a noisy agent. A coalition drawn again gets a new replicate."""
        anchors, closed_sets = self.draw_closed_sets(self.options.tasks_per_round)
        self.keep_anchors(anchors, (yield from self.ask([*anchors, *closed_sets])))

    def draw_closed_sets(self, count: int) -> tuple[list[TaskRequest], list[TaskRequest]]:
        """Anchors of tasks that join as the run grows, and so many random closed coalitions."""
        size = noisy_panel_size(self.issued // len(self.problem.operators), len(self.task_order))
        active = np.array(sorted(self.task_order[:size]), dtype=np.int64)
        anchors = self.join([task for task in self.task_order[:size] if task not in self.joined])
        weights = self.weights()
        active_weights = None if weights is None else weights[active]
        chosen = active[choose_noisy_tasks(self.sums[active], self.rounds[active], active_weights, count, self.rng)]
        self.rounds[chosen] += 1
        return anchors, [self.closed_set(task, AdaptiveReason.CLOSED_SET) for task in chosen.tolist()]

    def score_rounds(self, size: int) -> Rounds:
        """Score random closed coalitions until the run ends, two rounds of `size` at the same time (noisy agent).

        A round is asked for in parts. What is chosen for a part depends on the answers to all but the two rounds of
        parts before it.
        """
        part = max(LEAST_PART, min(self.options.tasks_per_round, size // PARTS))
        flight: deque[tuple[list[TaskRequest], IssuedBatch]] = deque()
        while flight or not self.ended:
            while not self.ended and len(flight) * part < ROUNDS_IN_FLIGHT * size:
                anchors, closed_sets = self.draw_closed_sets(part)
                anchors += self.bare_requests() if self.bare_is_due else []
                flight.append((anchors, self.issue([*anchors, *closed_sets])))
            anchors, issued = flight.popleft()
            self.keep_anchors(anchors, (yield from self.collect(issued)))


def _advance(
    live: list[tuple[int, TaskSearch, CoalitionRequest]], task: int, search: TaskSearch, score: Score | None
) -> None:
    """Send a score to a search and keep it in `live` with its next request, unless it has ended."""
    request = next_request(search, score)
    if request is not None:
        live.append((task, search, request))
