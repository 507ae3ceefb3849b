"""Each integration inside the real library, offline: the optimizer writes, SkillSV prunes and proves."""

import json
import subprocess
import sys

import pytest

from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame, count_lines

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def grow(name, policy):
    pytest.importorskip(name, reason=f"needs the package {name} (pip install 'skillsv[{name}]')")
    from skillsv_bench.optimizers.study import find_play

    return find_play(name)(GrowthGame(seed=5), 5000, policy)


@pytest.mark.parametrize("name", ["gepa", "dspy", "textgrad", "skillopt"])
def test_an_optimizer_ends_with_fewer_useless_lines_at_the_same_budget(name):
    alone = grow(name, None)
    pruned = grow(name, PrunePolicy(every=5, budget=800, jobs=1))
    before, after = count_lines(alone.text), count_lines(pruned.text)
    assert alone.pruning == 0 < pruned.pruning
    assert pruned.calls <= 5000 + 100
    assert after.useless < before.useless
    assert after.helpful >= before.helpful - 1


def test_optimize_anything_prunes_and_its_reflection_is_told_the_values():
    pytest.importorskip("gepa", reason="needs the package gepa")
    from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything

    from skillsv.integrations.gepa import VALUES, PruneAndConfirm, side_info

    game, told = GrowthGame(seed=5), []
    editor, train = Editor(game), game.examples("train", 96)

    def score(candidate, example):
        return game.score(candidate["skill"], example)

    def evaluate(candidate, example):
        passed = score(candidate, example)
        return passed, {"topic": example["topic"], "passed": passed, **side_info(pruning, candidate, "skill")}

    def propose(candidate, records, components):
        told.extend(row[VALUES] for row in records["skill"] if VALUES in row)
        failed = [row["topic"] for row in records["skill"] if row["passed"] < 1]
        return {"skill": editor.rewrite(candidate["skill"], failed)}

    pruning = PruneAndConfirm(score, train, PrunePolicy(every=3, budget=700, jobs=1))
    result = optimize_anything(
        {"skill": SEED_TEXT},
        evaluator=evaluate,
        dataset=train,
        valset=game.examples("validation", 48),
        config=GEPAConfig(
            engine=EngineConfig(
                max_metric_calls=3000, selection_strategy=pruning, parallel=False, seed=5, raise_on_exception=True
            ),
            reflection=ReflectionConfig(custom_candidate_proposer=propose, reflection_lm=None),
        ),
    )
    assert result.total_metric_calls >= pruning.pruner.rollouts > 0
    assert any(pruned.removed for pruned in pruning.results)
    assert told
    after = count_lines(pruning.shorten(result.best_candidate)["skill"])
    assert after.helpful >= 8
    assert after.useless <= 1


PROGRAM = """
import json, os, sys
from pathlib import Path
import gepa
from gepa.core.adapter import EvaluationBatch
from skillsv.integrations.gepa import PruneAndConfirm, ValuedAdapter
from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame

folder, last = Path(sys.argv[1]), int(sys.argv[2])
game = GrowthGame(seed=5)
editor = Editor(game)
paid = open(folder / "paid.jsonl", "a")
count = 0

def score(candidate, example):
    global count
    count += 1
    if count > last:
        os._exit(9)
    paid.write(json.dumps([candidate["skill"], example["id"]]) + "\\n")
    paid.flush()
    return game.score(candidate["skill"], example)

class Adapter:
    propose_new_texts = None

    def evaluate(self, batch, candidate, capture_traces=False):
        scores = [game.score(candidate["skill"], example) for example in batch]
        traces = list(zip(batch, scores)) if capture_traces else None
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=traces)

    def make_reflective_dataset(self, candidate, batch, components):
        return {name: [{"topic": e["topic"], "score": s} for e, s in batch.trajectories] for name in components}

def propose(candidate, records, components):
    failed = [row["topic"] for row in records["skill"] if row.get("score", 1) < 1]
    return {"skill": editor.rewrite(candidate["skill"], failed)}

train = game.examples("train", 96)
policy = PrunePolicy(every=3, budget=700, jobs=1, run_dir=folder / "rollouts")
pruning = PruneAndConfirm(score, train, policy)
result = gepa.optimize({"skill": SEED_TEXT}, train, game.examples("validation", 48), adapter=ValuedAdapter(Adapter(), pruning),
    custom_candidate_proposer=propose, selection_strategy=pruning, max_metric_calls=2500, seed=5,
    run_dir=str(folder / "gepa"), raise_on_exception=True)
print(json.dumps({"text": result.best_candidate["skill"], "pruned": len(pruning.results)}))
"""


def test_a_killed_run_of_gepa_pays_for_no_valuation_rollout_twice(tmp_path):
    pytest.importorskip("gepa", reason="needs the package gepa")
    first = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path, "150"], capture_output=True, text=True)
    assert first.returncode == 9, first.stderr
    second = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path, "100000"], capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout.splitlines()[-1])["pruned"] > 0
    paid = [tuple(json.loads(line)) for line in (tmp_path / "paid.jsonl").read_text().splitlines()]
    repeated = len(paid) - len(set(paid))
    assert len(paid) > 200
    assert repeated <= len(paid) // 20, "only the repeats that look for noise ask the same question twice"
