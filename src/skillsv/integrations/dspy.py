"""DSPy: prune and confirm inside `dspy.GEPA`, and values of lines in the feedback of its metric.

    from skillsv.integrations.dspy import prune_and_confirm, with_values

    pruning = prune_and_confirm(program, metric, trainset, PrunePolicy())
    optimizer = dspy.GEPA(
        metric=with_values(metric, pruning), gepa_kwargs={"selection_strategy": pruning}, use_merge=False, ...)
    better = optimizer.compile(program, trainset=trainset, valset=valset)

Merged candidates do not pass through a selection strategy, so `use_merge=False` is needed for all of them to be pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from skillsv.integrations.gepa import PruneAndConfirm
from skillsv.integrations.pruning import PrunePolicy

Metric = Callable[..., Any]
"""A metric of `dspy.GEPA`: `(gold, prediction, trace, pred_name, pred_trace)` to a number or a `dspy.Prediction`."""


def prune_and_confirm(
    program: dspy.Module,
    metric: Metric,
    examples: Sequence[Any],
    policy: PrunePolicy | None = None,
    *,
    version: str = "",
) -> PruneAndConfirm:
    """The selection strategy for `gepa_kwargs` of `dspy.GEPA`, which shortens the instructions that it accepts."""

    def score(candidate: Mapping[str, str], example: Any) -> float:
        changed = with_instructions(program, candidate)
        return score_of(metric(example, changed(**example.inputs()), None, None, None))

    return PruneAndConfirm(score, list(examples), policy, version=version)


def with_instructions(program: dspy.Module, candidate: Mapping[str, str]) -> Any:
    """A copy of the program whose predictors have the instructions of a candidate."""
    changed = program.deepcopy()
    for name, predictor in changed.named_predictors():
        if name in candidate:
            predictor.signature = predictor.signature.with_instructions(candidate[name])
    return changed


def with_values(metric: Metric, pruning: PruneAndConfirm) -> Metric:
    """The metric with the measured values of a predictor's instructions added to its feedback. Costs nothing."""

    def valued(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        result = metric(gold, pred, trace, pred_name, pred_trace)
        known = pruning.pruner.known_values(_instructions(pred_trace)) if pred_trace else ""
        if not known:
            return result
        said = getattr(result, "feedback", "") or ""
        return dspy.Prediction(score=score_of(result), feedback=f"{said}\n\n{known}".strip())

    return valued


def score_of(result: Any) -> float:
    """The score of a metric's result, which is a number or has one."""
    return float(getattr(result, "score", result))


def _instructions(pred_trace: Sequence[Any]) -> str:
    """The instructions of the predictor that a trace begins with."""
    predictor = pred_trace[0][0]
    return str(predictor.signature.instructions)
