"""`skillsv demo`: values the example skill, prunes it and confirms the result."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from skillsv.cli.flags import BudgetFlags, CompileFlags, EstimatorFlags, Json, RunFlags, given, read_settings
from skillsv.errors import SkillError

EXAMPLE = "support-desk"
"""Folder of the example skill."""

DEMO_SETTINGS: dict[str, Any] = {"panel_b": 0.5, "orders": 32, "window": 12}
"""Defaults of the demo where `value` has others: the example's agent costs nothing, so intervals can be narrow."""

DEMO_ROLLOUTS = 4800
"""Limit of the adaptive method, which is more than usual for the same reason."""


NEXT_COMMAND = 'skillsv value my-skill --tasks tasks.jsonl --agent "command:./agent.sh"'
"""What a user runs after the demo."""


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
    from skillsv.api.plan import plan_job
    from skillsv.api.run_place import default_folder
    from skillsv.cli.run_valuation import run_valuation
    from skillsv.pipeline import ValuationJob

    skill = example_folder()
    flags_given = given(estimator, budget, compiler)
    defaults = {name: value for name, value in DEMO_SETTINGS.items() if name not in flags_given}
    settings = replace(read_settings(skill, flags_given), **defaults)
    if settings.method == "auto" and settings.max_rollouts is None:
        settings = replace(settings, max_rollouts=DEMO_ROLLOUTS)
    evals = skill / "evals"
    agent = "python:agent.py:answer"
    job = ValuationJob(skill=skill, tasks=evals / "tasks.jsonl", agent=agent, settings=settings, folder=evals)
    flags = replace(run or RunFlags(), yes=True)  # the demo costs nothing, so it does not ask
    place = flags.run_dir or default_folder(EXAMPLE)
    plan = plan_job(job, run_dir=place, fresh=flags.fresh)
    code = run_valuation(plan, flags, json=json, out=sys.stdout)
    if not code and not json and settings.panel_b:
        show_pruned(place, quiet=flags.quiet)
    return code


def show_pruned(run: Path, *, quiet: bool) -> None:
    """Prune the example by its values, print what changes, and confirm it on tasks not used so far."""
    from skillsv.api.run import load_run
    from skillsv.api.shorten import confirm, prune
    from skillsv.cli.printing import deliver, print_lines, styled_patch
    from skillsv.pipeline.proof_text import certainty_line
    from skillsv.report.sentences import proof_sentence

    loaded = load_run(run)
    short = prune(loaded)
    place = short.write(_free_folder(run), force=True)
    deliver(f"\nWithout what is worthless or harmful ({len(short.removed)} units):\n\n", None)
    print_lines(styled_patch(short.files_before, short.files))
    proof = confirm(loaded, yes=True, progress=not quiet).result
    deliver(f"\n{proof_sentence(proof.confirmation)}\n{certainty_line(proof)}\nShorter skill: {place}\n", None)
    deliver(f"\nNow your own skill, with tasks and an agent of yours:\n  {NEXT_COMMAND}\n", None)


def _free_folder(run: Path) -> Path:
    """A folder for the shorter skill: that of an earlier demo, or the next number where it holds something else."""
    from skillsv.rendering.output import reason_to_keep

    names = ("shorter" if number == 1 else f"shorter-{number}" for number in count(1))
    return next(place for place in map(run.joinpath, names) if reason_to_keep(place) is None)


def example_folder() -> Path:
    """The example skill: inside an installed package, or in the repository beside the source."""
    installed = Path(str(files("skillsv"))) / "examples" / EXAMPLE
    beside = Path(__file__).parents[3] / "examples" / EXAMPLE
    for folder in (installed, beside):
        if (folder / "SKILL.md").is_file():
            return folder
    raise SkillError("the example skill is missing from this installation.", hint="Install skillsv again.")
