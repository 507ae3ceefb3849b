"""Policies decide which rollouts come next. This module holds the protocol and the chain of the paper's Algorithm 1.

A policy is a generator: it yields the requests it needs now, receives their scores, and returns its result. It knows
no clock, no order of arrival and no cost, so the same answers always lead to the same requests: a resumed run repeats
the interrupted one. `adaptive/` has another policy of the same protocol.

    def both_anchors(task):
        requests = (Request(coalition=frozenset(), ...), Request(coalition=everything, ...))
        answers = yield requests
        return answers[requests[1]] - answers[requests[0]]
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TypeVar

from skillsv.errors import SettingsError
from skillsv.model.coalition import ChainPlan, ChainRecord, ChainStep, Coalition, Operator, PanelAnchors, Scores
from skillsv.model.rollout import Request, RequestScores

T = TypeVar("T")
Policy = Generator[tuple[Request, ...], RequestScores, T]
"""Yields requests, receives their scores, returns a result of type `T`."""

TreeOf = Callable[[Coalition, Operator], str]
"""The digest of the tree that a coalition renders to."""

CERTAIN_STRIDE = 8
"""Prefixes requested at a time if the chain cannot be truncated: all of them will be needed."""


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """One coalition under one operator on the chain's window: the only way a chain requests or reads a score.

    Requests and scores both come from the plan's own task list, so the two sides of a marginal cannot differ in it.
    """

    plan: ChainPlan
    coalition: Coalition
    operator: Operator
    why: str

    def requests(self) -> Iterator[Request]:
        for task in self.plan.window.tasks:
            yield Request(
                coalition=self.coalition,
                operator=self.operator,
                task=task,
                replicate=self.plan.replicate,
                why=self.why,
            )

    def scores(self, answers: RequestScores) -> Scores:
        return tuple(answers[request] for request in self.requests())


@dataclass(frozen=True, slots=True)
class _Chain:
    """The evaluations of one plan. Prefixes are built when needed: all at once would take n^2 memory."""

    plan: ChainPlan

    @property
    def last(self) -> int:
        return len(self.plan.order) - 1

    def prefix(self, position: int) -> Coalition:
        return frozenset(self.plan.order[: position + 1])

    def empty(self) -> _Evaluation:
        # The bare agent has no skill to pad: its rendering is the deletion of everything.
        return _Evaluation(self.plan, frozenset(), Operator.DELETE, "anchor:empty")

    def triggers(self) -> list[_Evaluation]:
        return [_Evaluation(self.plan, self.prefix(0), operator, "anchor:trigger") for operator in self.plan.operators]

    def full(self) -> _Evaluation:
        # All operators render the full skill to the same bytes, so one request serves them all.
        return _Evaluation(self.plan, self.prefix(self.last), self.plan.operators[0], "anchor:full")

    def at_position(self, position: int) -> list[_Evaluation]:
        coalition = self.prefix(position)
        return [_Evaluation(self.plan, coalition, operator, "chain") for operator in self.plan.operators]


def chain_policy(
    plan: ChainPlan, trigger: str, *, speculate: int = 0, tree_of: TreeOf | None = None
) -> Policy[ChainRecord]:
    """Algorithm 1 along one order: anchors, then prefixes until all operators are within tau of the full skill.

    `speculate` requests that many prefixes beyond the next one: faster with many jobs, but some may not be needed. The
    record is the same. `tree_of` names the rendered trees in the record's steps.
    """
    _check(plan, trigger, speculate)
    chain = _Chain(plan)
    empty, triggers, full = chain.empty(), chain.triggers(), chain.full()
    answers = yield from _request([empty, *triggers, full])
    steps, truncated_at = yield from _score_prefixes(chain, full.scores(answers), speculate, tree_of)
    return ChainRecord(
        plan=plan,
        empty=empty.scores(answers),
        trigger=tuple(evaluation.scores(answers) for evaluation in triggers),
        full=full.scores(answers),
        steps=steps,
        truncated_at=truncated_at,
    )


def panel_anchor_policy(tasks: Sequence[str], trigger: str, everything: Coalition) -> Policy[PanelAnchors]:
    """Score the bare agent, {m} and the full skill on every task; the ledger answers what checks and chains ran."""

    def on_tasks(coalition: Coalition, why: str) -> tuple[Request, ...]:
        return tuple(
            Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=0, why=why) for task in tasks
        )

    empty = on_tasks(frozenset(), "anchor:empty")
    only_trigger = on_tasks(frozenset({trigger}), "anchor:trigger")
    full = on_tasks(everything, "anchor:full")
    answers = yield (*empty, *only_trigger, *full)
    return PanelAnchors(
        tasks=tuple(tasks),
        empty=tuple(answers[request] for request in empty),
        trigger=tuple(answers[request] for request in only_trigger),
        full=tuple(answers[request] for request in full),
    )


def _check(plan: ChainPlan, trigger: str, speculate: int) -> None:
    if not plan.order or plan.order[0] != trigger:
        raise SettingsError(f"the order of chain {plan.index} does not begin with the trigger {trigger!r}.")
    if len(set(plan.order)) != len(plan.order):
        raise SettingsError(f"the order of chain {plan.index} names a unit twice.")
    if not plan.window.tasks or len(set(plan.window.tasks)) != len(plan.window.tasks):
        raise SettingsError(f"the window of chain {plan.index} is empty or names a task twice.")
    if not plan.operators or len(set(plan.operators)) != len(plan.operators):
        raise SettingsError(f"chain {plan.index} needs each of its operators once.")
    if speculate < 0:
        raise SettingsError("speculate cannot be negative.", hint="Use 0 for none.")


def _request(evaluations: Iterable[_Evaluation]) -> Generator[tuple[Request, ...], RequestScores, RequestScores]:
    wanted = dict.fromkeys(request for evaluation in evaluations for request in evaluation.requests())
    return (yield tuple(wanted)) if wanted else {}


def _score_prefixes(
    chain: _Chain, full: Scores, speculate: int, tree_of: TreeOf | None
) -> Generator[tuple[Request, ...], RequestScores, tuple[tuple[ChainStep, ...], int | None]]:
    """The steps of all operators, position by position, and the position of the truncation."""
    tolerance = chain.plan.tolerance
    stride = 1 + (speculate if tolerance is not None else max(speculate, CERTAIN_STRIDE - 1))
    steps: list[ChainStep] = []
    for start in range(1, chain.last, stride):
        positions = range(start, min(start + stride, chain.last))
        rows = [chain.at_position(position) for position in positions]
        answers = yield from _request(evaluation for row in rows for evaluation in row)
        for position, row in zip(positions, rows, strict=True):
            scores = [evaluation.scores(answers) for evaluation in row]
            steps.extend(_steps(chain, position, scores, tree_of))
            if tolerance is not None and all(within(row_scores, full, tolerance) for row_scores in scores):
                return tuple(steps), position
    if chain.last > 0:
        # The last prefix is the full skill: its step reuses the anchor.
        steps.extend(_steps(chain, chain.last, [full] * len(chain.plan.operators), tree_of))
    return tuple(steps), None


def _steps(chain: _Chain, position: int, scores: Sequence[Scores], tree_of: TreeOf | None) -> Iterator[ChainStep]:
    for operator, row in zip(chain.plan.operators, scores, strict=True):
        yield ChainStep(
            operator=operator,
            position=position,
            unit=chain.plan.order[position],
            scores=row,
            tree=tree_of(chain.prefix(position), operator) if tree_of else "",
        )


def within(scores: Scores, full: Scores, tolerance: float) -> bool:
    """Whether |v(S_j, W) - v(N, W)| <= tau, over the tasks scored on both sides.

    With more than half of the window missing there is too little to call two means equal. The mean of differences is
    rounded once, so a gap of exactly tau holds (a difference of two rounded means may not).
    """
    gaps = [left - right for left, right in zip(scores, full, strict=True) if left is not None and right is not None]
    return 2 * len(gaps) >= len(full) and bool(gaps) and abs(fsum(gaps) / len(gaps)) <= tolerance
