"""SkillOpt's trainer plays a growth game: patches come from the scripted editor, so that no model is called."""

from __future__ import annotations

from contextlib import nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from skillopt.engine.trainer import ReflACTTrainer
from skillopt.envs.base import EnvAdapter
from skillopt.gradient import aggregate

from skillsv.integrations.pruning import PrunePolicy, Pruner
from skillsv.integrations.skillopt import ValuedEnvAdapter, pruning_gate
from skillsv_bench.optimizers.growth import SEED_TEXT, Editor, GrowthGame
from skillsv_bench.optimizers.play import BATCH, TRAIN, VALIDATION, Calls, Grown

aggregate.load_prompt = lambda *_: ""  # the package of SkillOpt 0.2 lacks its prompt files; no model reads them here


def grow_with_skillopt(game: GrowthGame, budget: int, policy: PrunePolicy | None) -> Grown:
    """SkillOpt's trainer with patches from the scripted editor; the number of its steps follows from the budget."""
    calls, editor = Calls(game, budget), Editor(game)
    train, validation = game.examples("train", TRAIN), game.examples("validation", VALIDATION)

    class Adapter(EnvAdapter):  # type: ignore[misc, unused-ignore]
        def build_train_env(self, batch_size: int, seed: int, **options: Any) -> Any:  # noqa: ARG002
            places = np.random.default_rng([game.seed, seed]).choice(TRAIN, batch_size, replace=False)
            return [train[place] for place in places]

        def build_eval_env(self, env_num: int, split: str, seed: int, **options: Any) -> Any:  # noqa: ARG002
            return validation

        def rollout(self, env_manager: Any, skill_content: str, out_dir: str, **options: Any) -> Any:  # noqa: ARG002
            scores = [calls.score(skill_content, item) for item in env_manager]
            rows = zip(env_manager, scores, strict=True)
            return [
                {"id": item["id"], "hard": int(score), "soft": score, "topic": item["topic"]} for item, score in rows
            ]

        def reflect(self, results: Any, skill_content: str, out_dir: str, **options: Any) -> Any:  # noqa: ARG002
            failed = [row["topic"] for row in results if not row["hard"]]
            written = editor.rewrite(skill_content, failed, options.get("meta_skill_context") or "")
            return [
                {"patch": {"reasoning": "scripted", "edits": _edits(skill_content, written)}, "source_type": "failure"}
            ]

        def get_task_types(self) -> list[str]:
            return ["growth"]

    pruner = None if policy is None else Pruner(train, policy)
    prunings = 0 if policy is None else policy.budget
    with TemporaryDirectory(prefix="skillopt-") as folder:
        skill = Path(folder) / "initial.md"
        skill.write_text(SEED_TEXT, encoding="utf-8")
        steps = max((budget - 4 * prunings - 2 * VALIDATION) // (BATCH + VALIDATION), 1)
        adapter: Any = Adapter()
        gate: Any = nullcontext() if pruner is None else pruning_gate(pruner, calls.score)
        with redirect_stdout(StringIO()), gate:
            trainer = ReflACTTrainer(
                _skillopt_config(folder, str(skill), steps, game.seed),
                adapter if pruner is None else ValuedEnvAdapter(adapter, pruner),
            )
            trainer.train()
        text = (Path(folder) / "out" / "best_skill.md").read_text(encoding="utf-8")
    if pruner is not None:
        text = pruner.shorten(text, calls.score).text
    return Grown(text=text, calls=calls.made, pruning=0 if pruner is None else pruner.rollouts)


def _edits(before: str, after: str) -> list[dict[str, str]]:
    """The difference of two texts as SkillOpt's edits."""
    old, new = before.splitlines(), after.splitlines()
    deleted = [{"op": "delete", "target": line, "content": ""} for line in old if line and line not in new]
    added = [{"op": "append", "content": line} for line in new if line and line not in old]
    return [*deleted, *added]


def _skillopt_config(folder: str, skill: str, steps: int, seed: int) -> dict[str, Any]:
    """The settings of SkillOpt's trainer: one epoch, no final test, no model."""
    return {
        "out_root": f"{folder}/out",
        "skill_init": skill,
        "seed": seed,
        "num_epochs": 1,
        "train_size": steps * BATCH,
        "steps_per_epoch": steps,
        "samples_per_epoch": steps * BATCH,
        "batches_per_epoch": steps,
        "batch_size": BATCH,
        "accumulation": 1,
        "analyst_workers": 1,
        "merge_batch_size": 8,
        "edit_budget": 8,
        "min_edit_budget": 8,
        "lr_scheduler": "constant",
        "lr_control_mode": "fixed",
        "skill_update_mode": "patch",
        "sel_env_num": VALIDATION,
        "test_env_num": 0,
        "eval_test": False,
        "optimizer_model": "none",
        "target_model": "none",
        "use_slow_update": False,
        "use_meta_skill": False,
        "use_skill_aware_reflection": False,
    }
