"""`skillsv check`: one command for CI, about the skills that a change touches."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from skillsv.cli.flags import AgentFlags, BudgetFlags, CompileFlags, Json, given, setting_parameter
from skillsv.cli.printing import deliver, json_text, say
from skillsv.version import __version__

if TYPE_CHECKING:
    from skillsv.api.check import CheckPlan
    from skillsv.model.check_document import CheckDocument

FILES = Group("Result files")
"""The panel of `--help` with the files that are written."""

VERDICT = Group("Verdict")
"""The panel of `--help` with what the verdict needs."""


@Parameter(name="*", group=FILES)
@dataclass(frozen=True, kw_only=True)
class ResultFlags:
    """The files that a check writes beside its result on stdout."""

    summary: Annotated[Path | None, Parameter(help="Append Markdown to this file, such as a step summary.")] = None
    sarif: Annotated[Path | None, Parameter(help="Write SARIF 2.1.0 for code scanning to this file.")] = None
    junit: Annotated[Path | None, Parameter(help="Write JUnit XML to this file.")] = None
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write the JSON to this file.")] = None


@Parameter(name="*", group=VERDICT)
@dataclass(frozen=True, kw_only=True)
class VerdictFlags:
    """What the verdict is found with, what it requires, and what it fails."""

    tasks: Annotated[str | None, Parameter(help="Tasks; {skill} stands for the folder of a skill.")] = None
    agent: Annotated[str | None, Parameter(help="command:PROGRAM ..., python:FILE.py:name, model:PROVIDER:NAME.")] = (
        None
    )
    max_drop: Annotated[float | None, Parameter(help="Points that may be lost [5].")] = None
    level: Annotated[float, Parameter(help="Confidence of 'no worse', in percent or as a share.")] = 95
    same_tasks: Annotated[
        bool,
        Parameter(negative=(), help="'No worse' speaks about these tasks alone: a few tasks, each run repeatedly."),
    ] = False
    include_new: Annotated[bool, Parameter(negative=(), help="Compare new skills, too: with no skill at all.")] = False
    fail_on: Annotated[
        Literal["not-shown", "worse", "never"], Parameter(help="The verdict that gives exit code 3.")
    ] = "not-shown"
    keep_going: Annotated[bool, Parameter(negative=(), help="Accept tasks on which the skill makes no difference.")] = (
        False
    )
    cache_dir: Annotated[Path | None, Parameter(help="Folder that keeps paid rollouts [.skillsv/check].")] = None
    seed: Annotated[int | None, setting_parameter("seed", "Seed of the order of the tasks.")] = None


def check(
    skills: Annotated[
        list[Path] | None, Parameter(help="Skills, or folders of skills [all below the working folder].")
    ] = None,
    /,
    *,
    base: Annotated[str, Parameter(help="The commit or branch to compare with.")] = "origin/main",
    ignore: Annotated[str, Parameter(help="Codes of lint to leave out (comma list).")] = "",
    token_limit: Annotated[
        int | None, Parameter(help="Fail where a changed skill has more tokens and did not get shorter.")
    ] = None,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Spend without asking.")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), help="No progress on stderr.")] = False,
    json: Json = False,
    files: ResultFlags | None = None,
    verdict: VerdictFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv check --base origin/main --tasks tasks.jsonl --agent "command:./agent.sh" --max-rollouts 400

    Lint the skills that differ from the base, and say how many tokens and units they gained or lost. With tasks and an
    agent, by flags or by [check] of a trusted skillsv.toml, run base and new version in pairs: no worse, worse, or not
    shown. Exit code 3 for worse and not shown (see --fail-on) and for --token-limit, 1 for a new error of lint, 4 and 5
    as everywhere. The same commit again costs nothing.
    """
    from skillsv.api.check import CACHE, CheckArguments, plan_check
    from skillsv.cli.consent import agree

    flags = verdict or VerdictFlags()
    wanted = {name: value for name, value in asdict(flags).items() if name not in {"seed", "cache_dir"}}
    arguments = CheckArguments(
        base=base,
        paths=tuple(skills or ()),
        cache_dir=flags.cache_dir or CACHE,
        ignore=tuple(word.strip() for word in ignore.split(",") if word.strip()),
        token_limit=token_limit,
        **wanted,
    )
    seed = {} if flags.seed is None else {"seed": flags.seed}
    with plan_check(arguments, {**given(budget, how, compiler), **seed}) as plan:
        for line in plan.notes:
            say(line)
        if plan.proofs:
            agree(plan.lines(), yes=yes or plan.has_limit)
        result = _run(plan, quiet=quiet)
        _write_files(result, plan, files or ResultFlags())
    _print(result, json=json)
    return result["exit_code"]


def _run(plan: CheckPlan, *, quiet: bool) -> CheckDocument:
    import anyio

    from skillsv.api.check import run_check_plan
    from skillsv.pipeline.progress import progress
    from skillsv.rollout import Stop

    async def work() -> CheckDocument:
        with progress(sys.stderr, quiet=quiet or not plan.proofs) as listener:
            return await run_check_plan(plan, listener, Stop())

    return anyio.run(work)


def _write_files(result: CheckDocument, plan: CheckPlan, files: ResultFlags) -> None:
    from skillsv.api.last_verdicts import last_verdicts
    from skillsv.compiler.lint import finding_titles
    from skillsv.report.check_files import check_junit, check_sarif
    from skillsv.report.check_text import check_markdown

    if files.summary is not None:
        earlier = files.summary.read_text(encoding="utf-8") if files.summary.is_file() else ""
        deliver(earlier + check_markdown(result), files.summary)
    if files.sarif is not None:
        log = check_sarif(result, finding_titles(), last_verdicts(plan.changes), version=__version__)
        deliver(json_text(log), files.sarif)
    if files.junit is not None:
        deliver(check_junit(result), files.junit)
    if files.output is not None:
        deliver(json_text(result), files.output)


def _print(result: CheckDocument, *, json: bool) -> None:
    from skillsv.report.check_text import check_lines

    deliver(json_text(result) if json else "".join(f"{line}\n" for line in check_lines(result)), None)
