"""SkillOpt: values for its reflection, a gate that prunes what it accepts, and a stage between two runs.

    from skillsv.integrations.skillopt import ValuedEnvAdapter, pruning_gate
    from skillsv.integrations.pruning import PrunePolicy, Pruner

    pruner = Pruner(train_items, PrunePolicy())
    with pruning_gate(pruner, evaluate):
        ReflACTTrainer(cfg, ValuedEnvAdapter(adapter, pruner)).train()

`evaluate(skill, item)` scores a skill on one training item, from 0 to 1; `item_score(adapter)` makes one from an
adapter whose environments are lists of items. The trainer has no hooks: `pruning_gate` replaces the gate function that
`skillopt.engine.trainer` imports, and puts it back at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skillopt.engine import trainer
from skillopt.evaluation.gate import GateResult, evaluate_gate

import skillsv as sv
from skillsv.integrations.pruning import Evaluate, Pruner, PruneResult

ACCEPTED = frozenset({"accept", "accept_new_best"})
"""The actions of the gate that make a candidate the current skill."""


class ValuedEnvAdapter:
    """An environment adapter whose reflection is told the measured values of the skill's lines. Costs nothing."""

    def __init__(self, adapter: Any, pruner: Pruner) -> None:
        self._adapter, self._pruner = adapter, pruner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def reflect(self, results: list[dict[str, Any]], skill_content: str, out_dir: str, **kwargs: Any) -> Any:
        """Reflect with the values added to the context that SkillOpt gives its analysts."""
        known = self._pruner.known_values(skill_content)
        if known:
            context = kwargs.get("meta_skill_context") or ""
            kwargs["meta_skill_context"] = f"{context}\n\n{known}".strip()
        return self._adapter.reflect(results, skill_content, out_dir, **kwargs)


@contextmanager
def pruning_gate(pruner: Pruner, evaluate: Evaluate, *, version: str = "") -> Iterator[list[PruneResult]]:
    """While this runs, SkillOpt's gate accepts shorter skills of equal score, and shortens what it accepts.

    A shortened skill keeps the score that the gate measured on the longer one; it is proved no worse by at most
    `max_drop`. Gives the list of results, which grows with each pruning.
    """
    results: list[PruneResult] = []
    accepted = 0

    def gate(candidate_skill: str, cand_hard: float, current_skill: str, *args: Any, **kwargs: Any) -> GateResult:
        nonlocal accepted
        decided = gate_by_length(candidate_skill, cand_hard, current_skill, *args, **kwargs)
        if decided.action in ACCEPTED:
            accepted += 1
            if accepted % pruner.policy.every == 0:
                results.append(pruner.shorten(candidate_skill, evaluate, version=version))
                decided = _with_skill(decided, candidate_skill, results[-1].text)
        return decided

    original = trainer.evaluate_gate
    trainer.evaluate_gate = gate
    try:
        yield results
    finally:
        trainer.evaluate_gate = original


def gate_by_length(
    candidate_skill: str,
    cand_hard: float,
    current_skill: str,
    current_score: float,
    *args: Any,
    **kwargs: Any,
) -> GateResult:
    """SkillOpt's gate, which also accepts a candidate of equal score that has fewer tokens."""
    decided = evaluate_gate(candidate_skill, cand_hard, current_skill, current_score, *args, **kwargs)
    if decided.action in ACCEPTED or count_tokens(candidate_skill) >= count_tokens(current_skill):
        return decided
    # A score that is accepted only because the current one is taken as lower by nothing is an equal score.
    equal = evaluate_gate(candidate_skill, cand_hard, current_skill, current_score - 1e-12, *args, **kwargs)
    if equal.action not in ACCEPTED:
        return decided
    best_is_current = decided.best_skill == current_skill
    return replace(equal, best_skill=candidate_skill) if best_is_current else equal


def count_tokens(text: str) -> int:
    """The tokens of a text."""
    return sv.compile(text).count_tokens()


def item_score(adapter: Any) -> Evaluate:
    """Scores by the adapter's own rollouts, one item at a time (the score `soft`)."""

    def evaluate(text: str, example: object) -> float:
        with TemporaryDirectory(prefix="skillsv-") as folder:
            row = adapter.rollout([example], text, folder)[0]
        return float(row["soft"])

    return evaluate


def shorten_file(path: str | Path, pruner: Pruner, evaluate: Evaluate, *, version: str = "") -> PruneResult:
    """The stage between two runs: `best_skill.md` in, a shorter skill out. Regions and their markers stay.

    Writes nothing: save `result.text` where the next run starts from.
    """
    return pruner.shorten(Path(path).read_text(encoding="utf-8"), evaluate, version=version)


def _with_skill(decided: GateResult, before: str, after: str) -> GateResult:
    """The decision for the shortened skill."""
    best = after if decided.best_skill == before else decided.best_skill
    return replace(decided, current_skill=after, best_skill=best)
