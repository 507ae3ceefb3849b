"""Each integration inside the real library, offline: the optimizer writes, SkillSV prunes and proves."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame, count_lines
from skillsv_bench.optimizers.play import FAILED, failed_topics

ROOT = Path(__file__).parents[2]

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
    pruned = grow(name, PrunePolicy(jobs=1, total=5000))
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

    pruning = PruneAndConfirm(score, train, PrunePolicy(every=3, budget=700, share=0.6, jobs=1))
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


@pytest.mark.parametrize("page", ["README.md", "docs/optimizers.md"])
def test_the_example_of_gepa_runs_as_it_stands_on_the_page(page):
    gepa = pytest.importorskip("gepa", reason="needs the package gepa")
    from gepa.core.adapter import EvaluationBatch

    game, evaluated = GrowthGame(seed=5), []
    editor = Editor(game)

    class Adapter:
        propose_new_texts = None

        def evaluate(self, batch, candidate, capture_traces=False):
            evaluated.extend(batch)
            scores = [game.score(candidate["skill"], example) for example in batch]
            return EvaluationBatch(outputs=scores, scores=scores, trajectories=list(zip(batch, scores, strict=True)))

        def make_reflective_dataset(self, _candidate, batch, components):
            said = [FAILED.format(example["topic"]) for example, score in batch.trajectories if not score]
            return {name: [{"Feedback": each} for each in said] for name in components}

    def reflection_lm(prompt):
        text = prompt.split("```")[1].strip()
        return f"```\n{editor.rewrite(text, failed_topics(prompt), prompt)}```"

    blocks = (ROOT / page).read_text().split("```")[1::2]
    names = {
        "gepa": gepa,
        "adapter": Adapter(),
        "policy": PrunePolicy(total=3000),
        "trainset": game.examples("train", 96),
        "valset": game.examples("validation", 48),
        "seed_candidate": {"skill": SEED_TEXT},
        "reflection_lm": reflection_lm,
    }
    exec(next(block for block in blocks if "ValuedAdapter" in block), names)
    assert names["pruning"].pruner.rollouts > 0
    assert len(evaluated) <= 3000
    before, after = (count_lines(text) for text in (names["result"].best_candidate["skill"], names["shorter"]["skill"]))
    assert after.helpful >= 8
    assert after.useless <= before.useless


PROGRAM = """
import json, os, signal, sys
from pathlib import Path
import gepa
from gepa.core.adapter import EvaluationBatch
from skillsv.integrations.gepa import PruneAndConfirm, ValuedAdapter
from skillsv.integrations.pruning import PrunePolicy
from skillsv_bench.optimizers.growth import SEED_TEXT, GrowthGame

folder, rollouts, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
game = GrowthGame(seed=5)
paid = open(folder / "paid.jsonl", "a")
count = 0

def score(candidate, example):
    global count
    count += 1
    if count > last:
        os.kill(os.getpid(), signal.SIGKILL)
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
        return {name: [{"score": s} for _, s in batch.trajectories] for name in components}

def propose(candidate, records, components):
    text = candidate["skill"]  # what is written next depends on the text alone, so a resumed run writes it again
    topic = next(topic for topic in range(3, 13) if f"helps-{topic}-" not in text)
    return {"skill": f"{text}- [helps-{topic}-1] Rule of topic {topic}.\\n- [dead-{topic}-2] Remark of topic {topic}.\\n"}

train = game.examples("train", 96)
policy = PrunePolicy(every=3, budget=400, share=0.8, jobs=1, run_dir=folder / rollouts)
pruning = PruneAndConfirm(score, train, policy)
result = gepa.optimize({"skill": SEED_TEXT}, train, game.examples("validation", 48),
    adapter=ValuedAdapter(Adapter(), pruning), custom_candidate_proposer=propose, selection_strategy=pruning,
    candidate_selection_strategy="current_best", reflection_minibatch_size=24, max_metric_calls=1500, seed=5,
    run_dir=str(folder / "gepa"), raise_on_exception=True)
print(json.dumps({"text": result.best_candidate["skill"], "rollouts": pruning.pruner.rollouts}))
"""


def run_program(folder, rollouts, last):
    words = [sys.executable, "-c", PROGRAM, folder, rollouts, str(last)]
    return subprocess.run(words, capture_output=True, text=True)


def test_a_killed_run_of_gepa_pays_for_no_valuation_rollout_twice(tmp_path):
    pytest.importorskip("gepa", reason="needs the package gepa")
    folder, forgetful = tmp_path / "killed", tmp_path / "forgetful"
    folder.mkdir()
    killed = run_program(folder, "rollouts", 250)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = set(paid(folder))
    shutil.copytree(folder, forgetful)
    for place, rollouts in ((folder, "rollouts"), (forgetful, "no-rollouts")):
        resumed = run_program(place, rollouts, 100_000)
        assert resumed.returncode == 0, resumed.stderr
    assert set(paid(folder)[250:]) & before == set()
    assert len(paid(folder)) > 500, "it was killed in its first pruning, and more followed"
    assert len(set(paid(forgetful)[250:]) & before) > 200, "the resumed run needs what was paid for before"


def paid(folder):
    return [tuple(json.loads(line)) for line in (folder / "paid.jsonl").read_text().splitlines()]
