"""GEPA with a scripted editor grows the facts of `examples/faq` for a real language model, alone and with pruning.

The editor stands for a reflection model: after a look at failed questions it adds the facts of some of them, and remarks
that answer nothing. What a line does to the model is not known beforehand, so questions that no optimizer sees compare
the results. Both runs have the same number of metric calls in all. The model's answers change with changes of the text
that mean nothing, so it is pruned once, after the end of GEPA. What pruning does to the text is asserted; the comparison
with GEPA alone is printed, as pruning does not pay at so few calls (`docs/optimizers.md`).
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import skillsv as sv
from skillsv.integrations.pruning import PrunePolicy

FULL = os.environ.get("SKILLSV_REAL_MODEL") == "full"
pytestmark = [pytest.mark.heavy, pytest.mark.skipif(not FULL, reason="takes both cores for minutes: make real-model")]

PACKAGES = ("gepa",)

EXAMPLE = Path(__file__).parents[2] / "examples" / "faq"
START = "# Quillmouth\n\nAnswer questions about the town with these facts:\n\n- Quillmouth is a town by the sea.\n"
TOTAL = 920
PRUNING = 600
BATCH = 5
MAX_DROP = 15.0
MAX_TOKENS = 20
REMARKS = (
    "Visitors enjoy the view from the old wall.",
    "The weather changes quickly in spring.",
    "Most streets are paved with grey stone.",
    "A good answer is friendly.",
    "Some shops close early in winter.",
    "The town has been painted by many artists.",
    "Trains run more often in summer.",
    "People of the town like to talk about boats.",
)


@dataclass
class Model:
    """Asks the model, each question about each text once: it is deterministic. `calls` counts for one optimizer."""

    url: str
    calls: int = 0
    known: dict[tuple[str, str], float] = field(default_factory=dict)

    def score(self, text, example):
        self.calls += 1
        place = text, example["input"]
        if place not in self.known:
            self.known[place] = float(example["target"].lower() in self.ask(*place).lower())
        return self.known[place]

    def ask(self, text, question):
        messages = [{"role": "system", "content": text}, {"role": "user", "content": question}]
        body = {"model": "smollm2", "messages": messages, "temperature": 0, "seed": 1, "max_tokens": MAX_TOKENS}
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]


class Editor:
    """Adds one to three lines: facts of failed questions, or remarks that were not made yet."""

    def __init__(self):
        bullets = [line[2:] for line in (EXAMPLE / "SKILL.md").read_text().splitlines() if line.startswith("- ")]
        self.facts = dict(zip(dict.fromkeys(task["stratum"] for task in read_tasks()), bullets, strict=False))
        self.remarks = [*bullets[len(self.facts) :], *REMARKS]
        self.rng = np.random.default_rng(5)

    def rewrite(self, text, failed):
        lines = [self.line(failed) for _ in range(int(self.rng.integers(1, 4)))]
        return text + "".join(f"- {line}\n" for line in dict.fromkeys(lines) if line not in text)

    def line(self, failed):
        if failed and self.rng.random() < 0.5:
            return self.facts[str(self.rng.choice(failed))]
        return str(self.rng.choice(self.remarks))


def read_tasks():
    return [json.loads(line) for line in (EXAMPLE / "evals/tasks.jsonl").read_text().splitlines()]


def questions(number, prefix=""):
    """The question of this number about each fact, in other words."""
    chosen = [task for task in read_tasks() if task["id"].endswith(f"-{number}")]
    return [{**task, "id": f"{prefix}{task['id']}", "input": prefix + task["input"]} for task in chosen]


TRAIN = [*questions(1), *questions(2), *questions(1, "A visitor asks: "), *questions(2, "Hello! ")]
VALIDATION = [*questions(3), *questions(2, "Please help me. ")]
HELD_OUT = [
    *questions(3, "A question: "),
    *questions(1, "I am new here. "),
    *questions(3, "Good morning. "),
    *questions(2, "Tell me: "),
]


def grow(model, policy):
    """The best text of GEPA, and its shorter version; the strategy is None without a policy."""
    import gepa
    from gepa.core.adapter import EvaluationBatch

    from skillsv.integrations.gepa import PruneAndConfirm, ValuedAdapter

    editor = Editor()

    class Adapter:
        propose_new_texts = None

        def evaluate(self, batch, candidate, capture_traces=False):
            scores = [model.score(candidate["skill"], example) for example in batch]
            traces = list(zip(batch, scores, strict=True)) if capture_traces else None
            return EvaluationBatch(outputs=scores, scores=scores, trajectories=traces)

        def make_reflective_dataset(self, _candidate, batch, components):
            rows = [{"stratum": example["stratum"]} for example, score in batch.trajectories if not score]
            return dict.fromkeys(components, rows)

    def propose(candidate, records, _components):
        failed = [row["stratum"] for row in records["skill"] if "stratum" in row]
        return {"skill": editor.rewrite(candidate["skill"], failed)}

    pruning = None if policy is None else PruneAndConfirm(Adapter(), TRAIN, policy)
    result = gepa.optimize(
        {"skill": START},
        TRAIN,
        VALIDATION,
        adapter=Adapter() if pruning is None else ValuedAdapter(Adapter(), pruning),
        custom_candidate_proposer=propose,
        selection_strategy=pruning,
        stop_callbacks=None if pruning is None else pruning.is_over,
        reflection_minibatch_size=BATCH,
        max_metric_calls=TOTAL,
        seed=5,
        raise_on_exception=True,
    )
    best = result.best_candidate
    return best["skill"], best["skill"] if pruning is None else pruning.shorten(best)["skill"], pruning


def describe(name, text, scores):
    """A row of the table: score on questions that no optimizer saw, tokens and lines."""
    facts = sum(fact in text for fact in Editor().facts.values())
    lines = sum(line.startswith("- ") for line in text.splitlines())
    return f"| {name} | {100 * scores.mean():.1f} | {count_tokens(text)} | {facts} | {lines - facts} |\n"


def compare(after, before):
    """The change of the score in points, and its standard error over questions."""
    change = 100 * (after - before)
    return change.mean(), change.std(ddof=1) / np.sqrt(len(change))


def count_tokens(text):
    return sv.compile(text).count_tokens()


def test_gepa_with_pruning_ends_with_a_shorter_text_that_a_real_model_uses_as_well(server, tmp_path, capsys):
    alone = Model(server.base_url)
    pruned, judge = (Model(server.base_url, known=alone.known) for _ in range(2))
    policy = PrunePolicy(
        total=TOTAL, budget=PRUNING, share=0.66, every=TOTAL, max_drop=MAX_DROP, same_examples=True, jobs=1,
        run_dir=tmp_path / "rollouts",
    )  # fmt: skip
    before, after, pruning = grow(pruned, policy)
    made = pruned.calls
    by_itself, _, _ = grow(alone, None)
    texts = {"start": START, "GEPA alone": by_itself, "GEPA, before pruning": before, "GEPA with pruning": after}
    scores = {name: np.array([judge.score(text, example) for example in HELD_OUT]) for name, text in texts.items()}
    by_pruning = compare(scores["GEPA with pruning"], scores["GEPA, before pruning"])
    in_all = compare(scores["GEPA with pruning"], scores["GEPA alone"])
    with capsys.disabled():
        sys.stdout.write(
            f"\n| text | score on {len(HELD_OUT)} held-out questions | tokens | facts | other lines |\n"
            "|---|--:|--:|--:|--:|\n"
        )
        sys.stdout.write("".join(describe(name, text, scores[name]) for name, text in texts.items()))
        sys.stdout.write("Change of the score by pruning: {:+.1f}±{:.1f}; ".format(*by_pruning))
        sys.stdout.write("against GEPA alone: {:+.1f}±{:.1f}.\n".format(*in_all))
        sys.stdout.write(f"{pruning.pruner.rollouts} of {made} metric calls for pruning; alone {alone.calls}.\n")
        sys.stdout.write("".join(f"{result.rollouts} rollouts: {result.note}\n" for result in pruning.results))
    assert made <= TOTAL
    assert any(result.removed for result in pruning.results), "nothing was removed"
    assert count_tokens(after) <= 0.7 * count_tokens(before)
    assert count_tokens(after) < count_tokens(by_itself)
    assert scores["GEPA with pruning"].mean() > scores["start"].mean(), "the text that is left still helps the model"
    assert by_pruning[0] + 2 * by_pruning[1] >= 0, "the text is shown to be worse than before pruning"
