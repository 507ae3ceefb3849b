"""`skillsv bench NAME`: run the paper's protocol on a benchmark, or check the benchmark without a model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from skillsv.errors import OutputError, SettingsError
from skillsv.extend.commands import (
    AgentFlags,
    BudgetFlags,
    CompileFlags,
    EstimatorFlags,
    Json,
    RunFlags,
    deliver,
    given,
    json_text,
)
from skillsv_bench.cli.protocol_flags import ProtocolFlags

if TYPE_CHECKING:
    from skillsv import Plan
    from skillsv.extend.figures import Figure
    from skillsv_bench.benchmark import Benchmark, LoadedTasks, Source
    from skillsv_bench.protocol import BenchmarkResult, BenchmarkRun
    from skillsv_bench.tables import Table

Split = Literal["train", "val", "test", "all"]
CHECKS_AT_ONCE = 4
"""Tasks that a check scores at the same time, unless --jobs is given."""


def published(
    name: Annotated[str, Parameter(help="livemath, officeqa, spreadsheetbench or alfworld.")],
    /,
    *,
    data: Annotated[Path, Parameter(help="The benchmark's data, in upstream's layout.")],
    skill: Annotated[Path | None, Parameter(help="A skill folder, or one Markdown file.")] = None,
    agent: Annotated[
        str | None,
        Parameter(help="model:PROVIDER:NAME, python:FILE.py:name, command:..., or reference, noop, rules."),
    ] = None,
    check: Annotated[
        bool, Parameter(negative=(), help="Score every task with the reference and the no-op agent; needs no model.")
    ] = False,
    plan: Annotated[bool, Parameter(negative=(), help="Say what the protocol would cost, and stop.")] = False,
    split: Annotated[Split | None, Parameter(help="train, val, test, or all [test; all with --check].")] = None,
    splits: Annotated[Path | None, Parameter(help="Folder of the released manifests [beside the data].")] = None,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Folder for tables and figures [RUN/results].")
    ] = None,
    json: Json = False,
    protocol: ProtocolFlags | None = None,
    run: RunFlags | None = None,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv bench livemath --data DIR --skill my-skill --agent model:openai:NAME --max-rollouts 5000

    Run the paper's whole protocol: estimate on panel A (K=12, b=8, tau=0.05), baselines, closure, pruning curves on
    panel B, refinement where an editor is given, selection where there is a validation split. Writes tables and figures
    as Markdown, CSV, SVG and one JSON. The same command again resumes. With --check nothing is asked of a model: it
    says whether the benchmark is sound here.
    """
    from skillsv_bench.benchmark import Source
    from skillsv_bench.registry import find_benchmark

    bench = find_benchmark(name)
    source = Source(data=data, split=split or ("all" if check else "test"), splits=splits)
    flags = run or RunFlags()
    loaded = bench.load(source)
    if not check or json:  # without --json a check lists them in its result
        _print_rejected(loaded)
    settings = given(estimator, budget, how, compiler)
    if check:
        return _check(bench, source, loaded, jobs=settings.get("jobs"), quiet=flags.quiet, json=json)
    if skill is None or agent is None:
        raise SettingsError("the protocol needs a skill and an agent.", hint="Give --skill and --agent, or --check.")
    benchmark_run, notes = (protocol or ProtocolFlags()).make_run(bench, source, loaded, skill, agent, settings)
    return _run(benchmark_run, notes, flags, output, plan=plan, json=json)


def _print_rejected(loaded: LoadedTasks) -> None:
    for task in loaded.rejected:
        print(_describe_rejected(asdict(task)), file=sys.stderr)


def _describe_rejected(task: dict[str, Any]) -> str:
    return f"{task['id']} cannot be scored: {task['why']}"


def _check(bench: Benchmark, source: Source, loaded: LoadedTasks, *, jobs: int | None, quiet: bool, json: bool) -> int:
    import anyio

    from skillsv.extend.commands import deliver, json_text
    from skillsv.extend.runs import progress
    from skillsv_bench.check import CheckResult, check

    async def session() -> Any:
        with progress(sys.stderr, quiet=quiet) as listener:
            return await check(bench, loaded, jobs=jobs or CHECKS_AT_ONCE, listener=listener)

    results: dict[str, CheckResult] = anyio.run(session)
    table = {
        "schema": "skillsv.bench.check/1",
        "benchmark": bench.name,
        "split": source.split,
        **{name: result.table() for name, result in results.items()},
        "rejected": [asdict(task) for task in loaded.rejected],
        "notes": list(loaded.notes),
    }
    deliver(json_text(table) if json else _check_text(table), None)
    return 0


def _check_text(table: dict[str, Any]) -> str:
    lines = [f"{table['benchmark']}, {table['split']}:"]
    for name in ("reference", "noop"):
        counts = table[name]
        lines.append(f"  the {name} agent passes {counts['passed']} of {counts['of']} tasks.")
    wrong = [f"  the reference agent fails {task}." for task in table["reference"]["failed"]]
    odd = [f"  the no-op agent passes {task}." for task in table["noop"]["passed_ids"]]
    rejected = [f"  {_describe_rejected(task)}" for task in table["rejected"]]
    return "\n".join([*lines, *wrong, *odd, *rejected, *(f"Note: {note}" for note in table["notes"])]) + "\n"


def _run(
    benchmark_run: BenchmarkRun, notes: tuple[str, ...], flags: RunFlags, output: Path | None, *, plan: bool, json: bool
) -> int:
    from skillsv.extend.commands import agree, deliver, json_text, refuse_inside
    from skillsv.extend.runs import default_folder, forecast_lines, plan_dict, plan_job
    from skillsv.extend.settings import small_settings
    from skillsv_bench.protocol import forecast_benchmark, require_measurable

    planned = plan_job(
        benchmark_run.job,
        run_dir=flags.run_dir,
        default_dir=lambda name: default_folder(f"{benchmark_run.benchmark.name}-{name}"),
        fresh=flags.fresh,
    )
    prepared, folder = planned.runnable_parts()
    forecast = forecast_benchmark(benchmark_run, planned)
    panels = f"{len(prepared.panel_a.tasks)} tasks in panel A, {len(prepared.panel_b.tasks)} in panel B"
    lines = [f"{benchmark_run.benchmark.title}: {panels}, {len(prepared.compiled.units)} units.", *notes]
    lines += _selection_lines(benchmark_run)
    lines += [*forecast_lines(forecast), *small_settings(benchmark_run.settings)]
    if plan:
        table = plan_dict(len(prepared.compiled.units), forecast)
        table["rejected"] = [{"id": task.id, "why": task.why} for task in benchmark_run.loaded.rejected]
        deliver(json_text(table) if json else "\n".join(lines) + "\n", None)
        return 0
    for skill in (benchmark_run.skill, *benchmark_run.candidates):
        folder.check_place(skill, prepared.compiled.skill.name)
        refuse_inside(output, skill)
    require_measurable(planned)
    agree(lines, yes=flags.yes or benchmark_run.settings.has_limit)
    if flags.fresh:
        folder.start_fresh()
    result = _run_protocol(benchmark_run, planned, flags)
    return _deliver(benchmark_run, result, notes, output or folder.path / "results", json=json)


def _selection_lines(benchmark_run: BenchmarkRun) -> list[str]:
    """What is selected on the validation split, for a reader of the forecast."""
    tasks = len(benchmark_run.validation)
    if not tasks:
        return []
    skills = len({benchmark_run.skill, *benchmark_run.candidates})
    lines = [f"The best of {skills} skills on {tasks} validation tasks is valued."] if skills > 1 else []
    return [*lines, f"A version of the skill is selected on {tasks} validation tasks, and scored once on panel B."]


def _run_protocol(benchmark_run: BenchmarkRun, planned: Plan, flags: RunFlags) -> BenchmarkResult:
    import anyio

    from skillsv.extend.runs import Stop, progress
    from skillsv_bench.protocol import run_benchmark

    async def session() -> BenchmarkResult:
        with progress(sys.stderr, quiet=flags.quiet) as listener:
            return await run_benchmark(benchmark_run, planned, listener, Stop(), keep_going=flags.keep_going)

    return anyio.run(session)


def _deliver(
    benchmark_run: BenchmarkRun, result: BenchmarkResult, notes: tuple[str, ...], output: Path, *, json: bool
) -> int:
    """Write tables and figures to their folder, and the tables or the JSON to stdout."""
    from skillsv.extend.commands import deliver, json_text

    results, tables = write_results(benchmark_run, result, notes, output)
    heading = f"# {benchmark_run.benchmark.title}: {results['skill']['name']}\n\n"
    notes_text = "".join(f"Note: {note}\n" for note in results["notes"])
    deliver(
        json_text(results) if json else heading + "\n".join(table.markdown() for table in tables[:-1]) + notes_text,
        None,
    )
    print(f"Results: {output}", file=sys.stderr)
    return 0


def write_results(
    benchmark_run: BenchmarkRun, result: BenchmarkResult, notes: tuple[str, ...], output: Path
) -> tuple[dict[str, Any], tuple[Table, ...]]:
    """Write the JSON, the tables and the figures of one benchmark run to their folder; return JSON and tables."""
    from skillsv_bench.results import FILE, build_results
    from skillsv_bench.tables import make_figures, make_tables, units_table

    results = dict[str, Any](build_results(benchmark_run, result, notes))
    tables = (*make_tables([results]), units_table(results))
    write_all(output, FILE, results, tables, make_figures(result, results))
    return results, tables


def write_all(folder: Path, name: str, results: Any, tables: Sequence[Table], figures: Sequence[Figure]) -> None:
    """Write one JSON, the tables as Markdown and CSV, the figures as SVG. The same results give the same bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{error.strerror}.", where=str(folder), hint="Choose another folder with -o.") from error
    deliver(json_text(results), folder / name)
    deliver("\n".join(table.markdown() for table in tables), folder / "tables.md")
    for table in tables:
        deliver(table.csv(), folder / f"{table.name}.csv")
    for figure in figures:
        deliver(str(figure.svg) + "\n", folder / f"{figure.name}.svg")
