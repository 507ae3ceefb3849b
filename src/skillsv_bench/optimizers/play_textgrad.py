"""TextGrad plays a growth game with the validation check of its examples: a step that scores lower is taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import textgrad
from textgrad.optimizer import TextualGradientDescent

from skillsv.integrations.pruning import PrunePolicy
from skillsv.integrations.textgrad import PruningTextualGradientDescent
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame
from skillsv_bench.optimizers.play import BATCH, FAILED, TRAIN, VALIDATION, Calls, Grown, failed_topics


def grow_with_textgrad(game: GrowthGame, budget: int, policy: PrunePolicy | None) -> Grown:
    """TextGrad's descent with the validation check of its examples: a step that scores lower is taken back."""
    calls, editor = Calls(game, budget), Editor(game)
    rng = np.random.default_rng([game.seed, 11])
    train, validation = game.examples("train", TRAIN), game.examples("validation", VALIDATION)
    text = textgrad.Variable(SEED_TEXT, requires_grad=True, role_description="the rules of the agent")

    class Engine(textgrad.engine.EngineLM):  # type: ignore[misc, unused-ignore]
        model_string = "scripted"

        def __call__(self, prompt: Any, **options: Any) -> str:  # noqa: ARG002
            written = editor.rewrite(text.value, failed_topics(str(prompt)), str(prompt))
            return f"<IMPROVED_VARIABLE>{written}</IMPROVED_VARIABLE>"

        generate = __call__

    if policy is None:
        optimizer = TextualGradientDescent([text], engine=Engine())
    else:
        optimizer = PruningTextualGradientDescent(
            [text], engine=Engine(), evaluate=calls.score, examples=train, policy=policy
        )
    kept = 0 if policy is None else policy.budget
    best = sum(calls.score(text.value, example) for example in validation)
    while calls.left > BATCH + VALIDATION + 2 * kept:
        before = text.value
        optimizer.zero_grad()
        batch = [train[place] for place in rng.choice(TRAIN, BATCH, replace=False)]
        failed = [example["topic"] for example in batch if calls.score(before, example) < 1.0]
        said = "\n".join(FAILED.format(topic) for topic in failed)
        text.gradients.add(textgrad.Variable(said, requires_grad=False, role_description="failures"))
        optimizer.step()
        now = sum(calls.score(text.value, example) for example in validation)
        if now < best:
            text.set_value(before)
        best = max(now, best)
    spent = 0
    if policy is not None:
        optimizer.prune()
        spent = optimizer.pruner.rollouts
    return Grown(text=text.value, calls=calls.made, pruning=spent)
