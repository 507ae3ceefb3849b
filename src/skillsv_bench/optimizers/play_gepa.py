"""GEPA plays a growth game with its own engine, acceptance and Pareto selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gepa
from gepa.core.adapter import EvaluationBatch

from skillsv.integrations.gepa import VALUES, PruneAndConfirm, ValuedAdapter
from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame
from skillsv_bench.optimizers.play import BATCH, TRAIN, VALIDATION, Calls, Grown

COMPONENT = "skill"
"""The name of the text in a candidate."""


def grow_with_gepa(game: GrowthGame, budget: int, policy: PrunePolicy | None) -> Grown:
    """GEPA with its own engine, acceptance and Pareto selection."""
    calls, editor = Calls(game, budget), Editor(game)

    class Adapter:
        propose_new_texts = None

        def evaluate(self, batch: Sequence[Any], candidate: Mapping[str, str], capture_traces: bool = False) -> Any:  # noqa: FBT001, FBT002
            scores = [calls.score(candidate[COMPONENT], example) for example in batch]
            traces = list(zip(batch, scores, strict=True)) if capture_traces else None
            return EvaluationBatch(outputs=scores, scores=scores, trajectories=traces)

        def make_reflective_dataset(self, candidate: object, batch: Any, components: Sequence[str]) -> Any:  # noqa: ARG002
            rows = [{"topic": example["topic"], "score": score} for example, score in batch.trajectories]
            return dict.fromkeys(components, rows)

    def propose(candidate: Mapping[str, str], records: Any, components: Sequence[str]) -> dict[str, str]:
        rows = records[components[0]]
        failed = [row["topic"] for row in rows if row.get("score", 1.0) < 1.0]
        feedback = "".join(row.get(VALUES, "") for row in rows)
        return {COMPONENT: editor.rewrite(candidate[COMPONENT], failed, feedback)}

    train, validation = game.examples("train", TRAIN), game.examples("validation", VALIDATION)
    pruning = None if policy is None else PruneAndConfirm(Adapter(), train, policy)
    result = gepa.optimize(
        {COMPONENT: SEED_TEXT},
        train,
        validation,
        adapter=Adapter() if pruning is None else ValuedAdapter(Adapter(), pruning),
        custom_candidate_proposer=propose,
        selection_strategy=pruning,
        reflection_minibatch_size=BATCH,
        max_metric_calls=budget,
        stop_callbacks=None if pruning is None else pruning.is_over,
        seed=game.seed,
        logger=_Quiet(),
        raise_on_exception=True,
    )
    text = result.best_candidate[COMPONENT]
    if pruning is not None:
        text = pruning.shorten({COMPONENT: text})[COMPONENT]
    return Grown(text=text, calls=calls.made, pruning=0 if pruning is None else pruning.pruner.rollouts)


class _Quiet:
    """A logger of GEPA that prints nothing."""

    def log(self, *message: object, **options: object) -> None:
        """Say nothing."""
