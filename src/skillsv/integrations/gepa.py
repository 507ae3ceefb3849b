"""GEPA: values of lines as feedback for its reflection, and prune and confirm after an accepted proposal.

    from skillsv.integrations.gepa import PruneAndConfirm, ValuedAdapter
    from skillsv.integrations.pruning import PrunePolicy

    pruning = PruneAndConfirm(adapter, trainset, PrunePolicy(max_drop=10))
    result = gepa.optimize(
        seed_candidate, trainset, valset, adapter=ValuedAdapter(adapter, pruning), selection_strategy=pruning, ...)

Scores must lie between 0 and 1. GEPA asks adapters to return a score for examples that fail; SkillSV cannot tell such a
score from a wrong answer. Raise an exception instead: it is then a failure, and tried again.

Proposals of GEPA's merging do not pass through a selection strategy, so they are not pruned: use `use_merge=False`, or
`shorten` on the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from gepa.core.adapter import EvaluationBatch, GEPAAdapter
from gepa.core.state import GEPAState
from gepa.proposer.base import CandidateProposal
from gepa.strategies.acceptance import AcceptanceCriterion
from gepa.strategies.proposal_selection import AllImprovements, SelectionStrategy

from skillsv.integrations.pruning import PrunePolicy, Pruner, PruneResult

VALUES = "Values of lines"
"""The key of the measured values in a record of a reflective dataset."""

PROGRESS = "skillsv_pruning"
"""The attribute of GEPA's state, saved with it: the rollouts, the accepted edits, and whether the agent is noisy."""

Candidate = dict[str, str]
"""The texts of a candidate by component."""

Score = Callable[[Candidate, Any], float]
"""Scores a candidate on one example."""


class PruneAndConfirm(SelectionStrategy):
    """A selection strategy that shortens the proposals it accepts, where the shorter text is proved no worse.

    `scorer` is the GEPA adapter, or a function `(candidate, example) -> score`. `examples` are training examples. What
    the proposals must pass is decided by `inner` (default: GEPA's own rule). The texts that a proposal changed are
    valued and pruned; GEPA then evaluates the shortened candidate on its validation set as it does any other.

    The rollouts are added to GEPA's count of metric calls, unless `policy.charge` is false; `pruner.rollouts` has their
    number. `results` has an entry for each pruning, and for each that the policy could not pay for yet. `version` is a
    text that changes whenever something changes that the source of the adapter does not show.
    """

    def __init__(
        self,
        scorer: GEPAAdapter[Any, Any, Any] | Score,
        examples: Sequence[Any],
        policy: PrunePolicy | None = None,
        *,
        inner: SelectionStrategy | None = None,
        version: str = "",
    ) -> None:
        self.pruner = Pruner(examples, policy or PrunePolicy())
        self.results: list[PruneResult] = []
        self._score = _adapter_score(scorer) if hasattr(scorer, "evaluate") else scorer
        self._version = f"{_source_digest(scorer)} {version}"
        self._inner = inner or AllImprovements()
        self._accepted = 0
        self._state: GEPAState[Any, Any] | None = None

    def select(
        self,
        proposals: list[CandidateProposal[Any]],
        state: GEPAState[Any, Any],
        acceptance_criterion: AcceptanceCriterion,
    ) -> list[CandidateProposal[Any]]:
        """The accepted proposals, shortened where that is proved."""
        selected: list[CandidateProposal[Any]] = self._inner.select(proposals, state, acceptance_criterion)
        if state is not self._state:
            self._state = state
            self.pruner.rollouts, self._accepted, *noisy = getattr(state, PROGRESS, (0, 0))
            self.pruner.noisy = any(noisy)  # a state of an earlier release does not say it
        for proposal in selected:
            self._accepted += 1
            if self._accepted >= self.pruner.policy.every:
                self._prune(proposal, state)
        setattr(state, PROGRESS, (self.pruner.rollouts, self._accepted, self.pruner.noisy))
        return selected

    def _prune(self, proposal: CandidateProposal[Any], state: GEPAState[Any, Any]) -> None:
        """Shorten the texts that a proposal changed. What cannot be paid for yet stays due."""
        before, first = self.pruner.rollouts, len(self.results)
        parents = [state.program_candidates[number] for number in proposal.parent_program_ids]
        changed = [
            name for name, text in proposal.candidate.items() if all(parent.get(name) != text for parent in parents)
        ]
        proposal.candidate.update(self._shorten(proposal.candidate, changed, last=False))
        if not all(result.postponed for result in self.results[first:]):
            self._accepted = 0
        if self.pruner.policy.charge:
            state.increment_evals(self.pruner.rollouts - before)

    def is_over(self, state: GEPAState[Any, Any]) -> bool:
        """A stop callback of GEPA: whether the last pruning needs what is left of `policy.total`.

        A noisy agent's needs less, so GEPA may go on for longer than `policy.optimizer_calls` says.
        """
        policy = self.pruner.policy
        uncharged = 0 if policy.charge else self.pruner.rollouts
        return bool(state.total_num_evals + uncharged >= policy.optimizer_limit(noisy=self.pruner.noisy))

    def shorten(self, candidate: Mapping[str, str], components: Sequence[str] | None = None) -> Candidate:
        """The result of GEPA with its components pruned and proved one after another (all of them by default)."""
        return self._shorten(candidate, list(candidate) if components is None else components, last=True)

    def _shorten(self, candidate: Mapping[str, str], components: Sequence[str], *, last: bool) -> Candidate:
        shorter = dict(candidate)
        self._count_own_calls()
        for name in components:
            score, version = self._component(shorter, name)
            result = self.pruner.shorten(shorter[name], score, version=version, last=last)
            self.results.append(result)
            shorter[name] = result.text
        return shorter

    def describe(self, candidate: Mapping[str, str], component: str, *, spend: bool = False) -> str:
        """What is measured of a component's lines, in sentences.

        With `spend`, a new text is valued first, if the policy can pay for it; before GEPA's first proposal it cannot.
        """
        text = candidate[component]
        if spend and self._state is not None and not self.pruner.known_values(text):
            score, version = self._component(candidate, component)
            self._count_own_calls()
            self.pruner.value(text, score, version=version)
        return self.pruner.known_values(text)

    def _count_own_calls(self) -> None:
        """Tell the pruner how many metric calls GEPA has made for itself; before its first proposal nobody knows."""
        if self._state is not None:
            charged = self.pruner.rollouts if self.pruner.policy.charge else 0
            self.pruner.own_calls = self._state.total_num_evals - charged

    def _component(self, candidate: Mapping[str, str], name: str) -> tuple[Callable[[str, Any], float], str]:
        """The score of a text as this component, and what it depends on besides the text."""
        others = {other: text for other, text in candidate.items() if other != name}

        def score(text: str, example: Any) -> float:
            return float(self._score({**others, name: text}, example))

        digest = sha256(repr([name, sorted(others.items())]).encode()).hexdigest()
        return score, f"{self._version} {digest}"


class ValuedAdapter:
    """A GEPA adapter with the values of lines added to its reflective datasets; all else is the adapter that it wraps.

    A record with the values is put before the records of each component. Only what is resolved is called helpful or
    harmful. The values are those that `pruning` has measured. With `spend=True` a candidate that was not measured yet
    is valued for its reflection, if the policy can pay for it; GEPA is told these rollouts as metric calls of the next
    evaluation, unless `policy.charge` is false.
    """

    def __init__(self, adapter: GEPAAdapter[Any, Any, Any], pruning: PruneAndConfirm, *, spend: bool = False) -> None:
        self._adapter, self._pruning, self._spend = adapter, pruning, spend
        self._uncharged = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def evaluate(
        self,
        batch: list[Any],
        candidate: Candidate,
        capture_traces: bool = False,  # noqa: FBT001, FBT002 - GEPA's signature
    ) -> EvaluationBatch[Any, Any]:
        """Evaluate by the adapter, and report the rollouts that values have cost since the last call."""
        result = self._adapter.evaluate(batch, candidate, capture_traces)
        if self._uncharged:
            calls = len(batch) if result.num_metric_calls is None else result.num_metric_calls
            result.num_metric_calls = calls + self._uncharged
            self._uncharged = 0
        return result

    def make_reflective_dataset(
        self, candidate: Candidate, eval_batch: EvaluationBatch[Any, Any], components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The adapter's records, after one record with the values of the component's lines."""
        records = self._adapter.make_reflective_dataset(candidate, eval_batch, components_to_update)
        before = self._pruning.pruner.rollouts
        described = {name: self._pruning.describe(candidate, name, spend=self._spend) for name in records}
        if self._pruning.pruner.policy.charge:
            self._uncharged += self._pruning.pruner.rollouts - before
        return {name: [{VALUES: described[name]}, *rows] if described[name] else rows for name, rows in records.items()}


def side_info(pruning: PruneAndConfirm, candidate: Mapping[str, str], component: str) -> dict[str, str]:
    """The measured values of a component's lines as an entry of `side_info`, for `gepa.optimize_anything`."""
    described = pruning.describe(candidate, component)
    return {VALUES: described} if described else {}


def _adapter_score(adapter: Any) -> Score:
    def score(candidate: Candidate, example: Any) -> float:
        return float(adapter.evaluate([example], candidate).scores[0])

    return score


def _source_digest(scorer: object) -> str:
    """A digest of the source that scores: of the function, or of the adapter's class."""
    code = scorer if inspect.isroutine(scorer) else type(scorer)
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError):
        source = ""
    name = getattr(code, "__qualname__", "")
    return sha256(f"{name}\0{source}".encode()).hexdigest()[:16]
