"""DSPy's GEPA plays a growth game: a program of one predictor, whose model follows the instructions it is shown."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace
from typing import Any

import dspy

from skillsv.integrations.dspy import prune_and_confirm, with_values
from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame
from skillsv_bench.optimizers.play import BATCH, FAILED, TRAIN, VALIDATION, Calls, Grown, failed_topics

logging.getLogger("dspy").setLevel(logging.WARNING)  # it logs every candidate in full


def grow_with_dspy(game: GrowthGame, budget: int, policy: PrunePolicy | None) -> Grown:
    """DSPy's GEPA on a program of one predictor, whose language model follows the instructions that it is shown."""
    calls, editor = Calls(game, budget), Editor(game)

    class FollowsRules(dspy.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.Predict(dspy.Signature("example_id, topic: int -> passed: float", SEED_TEXT))

        def forward(self, example_id: str, topic: int) -> Any:
            return self.answer(example_id=example_id, topic=topic)

    class Model(dspy.BaseLM):  # type: ignore[misc, unused-ignore]
        def forward(self, prompt: Any = None, messages: Any = None, **options: Any) -> Any:  # noqa: ARG002
            return _completion(_answer_of(calls.score, messages))

    def metric(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:  # noqa: ARG001
        feedback = "" if pred.passed >= 1.0 else FAILED.format(gold.topic)
        return dspy.Prediction(score=float(pred.passed), feedback=feedback)

    def rewrite(candidate: Mapping[str, str], reflective_dataset: Any, components_to_update: Sequence[str]) -> Any:
        told = {name: "\n".join(row["Feedback"] for row in reflective_dataset[name]) for name in components_to_update}
        return {name: editor.rewrite(candidate[name], failed_topics(said), said) for name, said in told.items()}

    def examples(part: str, count: int) -> list[Any]:
        rows = game.examples(part, count)
        return [
            dspy.Example(example_id=row["id"], topic=row["topic"]).with_inputs("example_id", "topic") for row in rows
        ]

    train, validation, program = examples("train", TRAIN), examples("validation", VALIDATION), FollowsRules()
    with dspy.context(lm=Model(model="scripted"), adapter=dspy.ChatAdapter()):
        pruning = None if policy is None else prune_and_confirm(program, metric, train, policy)
        optimizer = dspy.GEPA(
            metric=metric if pruning is None else with_values(metric, pruning),
            max_metric_calls=budget,
            reflection_minibatch_size=BATCH,
            reflection_lm=Model(model="scripted"),
            instruction_proposer=rewrite,
            use_merge=False,
            num_threads=1,
            seed=game.seed,
            gepa_kwargs={} if pruning is None else {"selection_strategy": pruning, "stop_callbacks": pruning.is_over},
        )
        with redirect_stdout(StringIO()):
            better = optimizer.compile(program, trainset=train, valset=validation)
        texts = {name: predictor.signature.instructions for name, predictor in better.named_predictors()}
        if pruning is not None:
            texts = pruning.shorten(texts)
    (text,) = texts.values()
    return Grown(text=text, calls=calls.made, pruning=0 if pruning is None else pruning.pruner.rollouts)


def _answer_of(score: Callable[[str, object], float], messages: Sequence[Mapping[str, Any]]) -> str:
    """What the scripted model answers to the prompt of DSPy: whether the shown rules pass the shown example."""
    prompt = "\n".join(str(message["content"]) for message in messages)
    found = re.findall(r"\[\[ ## example_id ## \]\]\s*(\S+)\s*\[\[ ## topic ## \]\]\s*(\d+)", prompt)
    name, topic = found[-1]
    rules = "\n".join(line.strip() for line in str(messages[0]["content"]).splitlines())
    passed = score(rules, {"id": name, "topic": int(topic)})
    return f"[[ ## passed ## ]]\n{passed}\n\n[[ ## completed ## ]]"


def _completion(text: str) -> Any:
    """A completion of one message in the form of OpenAI's API, which DSPy reads."""
    message = SimpleNamespace(content=text, tool_calls=None, reasoning_content=None)
    choice = SimpleNamespace(message=message, finish_reason="stop", logprobs=None)
    return SimpleNamespace(choices=[choice], usage={}, model="scripted")
