"""The job of `value` and `demo`: forecast, consent, rollouts with progress, result."""

from __future__ import annotations

import sys
from typing import TextIO

import anyio

from skillsv.api.plan import Plan
from skillsv.api.run import Run, run_plan
from skillsv.cli.consent import agree
from skillsv.cli.flags import RunFlags
from skillsv.cli.printing import json_text, say
from skillsv.pipeline.progress import progress
from skillsv.report.escape import escape_text
from skillsv.report.sentences import proof_sentence
from skillsv.report.text import terminal_table
from skillsv.report.valuation_json import valuation_dict
from skillsv.rollout import RunFolder, Stop

PIPE_WIDTH = 120
"""Columns of the table in a log or pipe, which has no width of its own."""


def run_valuation(plan: Plan, flags: RunFlags, *, json: bool, out: TextIO) -> int:
    """Run a plan from consent to report. The exit code says whether it was completed."""
    plan.require_runnable()
    for note in plan.notes:
        say(note)
    agree(plan.lines(), yes=flags.yes or plan.has_limit)
    run = anyio.run(_run, plan, flags)
    if run.error is not None:
        say(f"skillsv: {run.error}")
    show(run, json=json, out=out)
    return run.error.exit_code if run.error else 0


async def _run(plan: Plan, flags: RunFlags) -> Run:
    with progress(sys.stderr, quiet=flags.quiet) as listener:
        return await run_plan(plan, listener, Stop(), fresh=flags.fresh, keep_going=flags.keep_going)


def show(run: Run, *, json: bool, out: TextIO) -> None:
    """Print the result on stdout, after the last proof if there is one."""
    valuation, proof = run.valuation, run.last_proof
    if json:
        out.write(json_text(valuation_dict(valuation, proof)))
        return
    from rich.console import Console

    console = Console(file=out, highlight=False, width=None if out.isatty() else PIPE_WIDTH)
    if proof is not None:
        console.print(escape_text(proof_sentence(proof)), soft_wrap=True, markup=False)
    console.print(terminal_table(valuation, width=console.width, colour=console.is_terminal))
    console.print(escape_text(f"Report: {RunFolder(run.folder).report}"), soft_wrap=True, markup=False)
