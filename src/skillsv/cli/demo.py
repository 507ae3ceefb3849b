"""`skillsv demo`: the whole path on the example skill."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from skillsv.cli.flags import BudgetFlags, CompileFlags, EstimatorFlags, Json, RunFlags, given
from skillsv.errors import SkillError

EXAMPLE = "support-desk"
DEMO_SETTINGS = {"panel_b": 0.5, "orders": 32, "window": 12}
DEMO_ROLLOUTS = 4800
"""More than usual: the example's agent costs nothing, so the demo can afford narrow intervals."""


def demo(
    *,
    json: Json = False,
    run: RunFlags | None = None,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv demo

    See what each line of the example skill is worth. Takes the same settings as `value`; needs no key, no network and
    no model: its agent obeys exactly the rules that it finds in the skill it is shown.
    """
    from skillsv.cli.running import run_valuation
    from skillsv.pipeline import ValuationJob
    from skillsv.settings import load_settings

    skill = example_folder()
    settings = load_settings(skill, {**DEMO_SETTINGS, **given(estimator, budget, compiler)})
    if settings.method == "auto" and settings.max_rollouts is None:
        settings = replace(settings, max_rollouts=DEMO_ROLLOUTS)
    evals = skill / "evals"
    agent = "python:agent.py:answer"
    job = ValuationJob(skill=skill, tasks=evals / "tasks.jsonl", agent=agent, settings=settings, folder=evals)
    flags = replace(run or RunFlags(), yes=True)  # nothing is paid for: there is nothing to agree to
    return run_valuation(job, flags, json=json, out=sys.stdout)


def example_folder() -> Path:
    """The example skill: inside an installed package, or in the repository beside the source."""
    installed = Path(str(files("skillsv"))) / "examples" / EXAMPLE
    beside = Path(__file__).parents[3] / "examples" / EXAMPLE
    for folder in (installed, beside):
        if (folder / "SKILL.md").is_file():
            return folder
    raise SkillError("the example skill is missing from this installation.", hint="Install skillsv again.")
