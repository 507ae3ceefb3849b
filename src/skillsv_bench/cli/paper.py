"""`skillsv bench paper`: every table and figure of the paper that the data and agents at hand allow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from skillsv.errors import SettingsError
from skillsv.extend.commands import (
    AgentFlags,
    BudgetFlags,
    CompileFlags,
    EstimatorFlags,
    Json,
    deliver,
    given,
    json_text,
)
from skillsv_bench.cli.protocol_flags import ProtocolFlags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillsv_bench.cli.paper_runs import PlannedRun, RunRequest
    from skillsv_bench.paper.artifacts import ArtifactSet
    from skillsv_bench.paper.gaps import Surroundings
    from skillsv_bench.paper.planted_artifacts import PlantedOptions
    from skillsv_bench.paper.sources import BenchmarkData

SCHEMA = "skillsv.bench.paper/1"
RUNS = "runs"
"""The folder of benchmark runs in the output folder."""


def paper(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder for tables, figures and index.md.")],
    data: Annotated[
        Path | None,
        Parameter(help="Folder with one folder a benchmark: its data by name, and results of earlier runs."),
    ] = None,
    agent: Annotated[
        str | None, Parameter(help="Run the benchmarks with this agent: model:..., python:..., or rules.")
    ] = None,
    skills: Annotated[
        Path | None, Parameter(help="Folder with the skill of each benchmark, by its name [DATA/skills].")
    ] = None,
    editor: Annotated[str | None, Parameter(help="Editor of the refinement: model:..., command:...")] = None,
    split: Annotated[Literal["train", "val", "test", "all"], Parameter(help="Tasks of the benchmarks.")] = "test",
    splits: Annotated[Path | None, Parameter(help="Folder of the released manifests [beside the data].")] = None,
    checkpoints: Annotated[int, Parameter(help="Checkpoints of each pruning curve between its ends.")] = 10,
    select: Annotated[bool, Parameter(help="Select versions on the validation split, where there is one.")] = True,
    games: Annotated[int, Parameter(help="Planted games of each kind.")] = 5,
    seed_of_games: Annotated[int, Parameter(help="Seed of the first planted game.")] = 0,
    plan: Annotated[bool, Parameter(negative=(), help="Say what it would cost, and stop.")] = False,
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Spend without asking.")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), help="No progress on stderr.")] = False,
    json: Json = False,
    estimator: EstimatorFlags | None = None,
    budget: BudgetFlags | None = None,
    how: AgentFlags | None = None,
    compiler: CompileFlags | None = None,
) -> int:
    """skillsv bench paper --data DIR -o OUT

    Write the paper's tables and figures as CSV, Markdown and SVG, with an index that says what made each file, how it
    differs from the paper, and what is missing for the rest. Planted games are always played and cost nothing. Results
    of benchmark runs in DIR or OUT/runs are used as they are. With --agent, the benchmarks whose data and skills are in
    DIR are run by the paper's protocol, with regions split as in the paper's table; that needs --yes or a limit.
    """
    from skillsv_bench.cli.paper_runs import RunRequest, cost_lines, run_all
    from skillsv_bench.paper.gaps import Surroundings
    from skillsv_bench.paper.planted_artifacts import PlantedOptions
    from skillsv_bench.paper.sources import SKILLS, find_data

    if games < 2 or seed_of_games < 0 or checkpoints < 1:
        raise SettingsError("the numbers of games, seed and checkpoints are too small.", hint="Try --games 5.")
    if data is not None and not data.is_dir():
        raise SettingsError("there is no such folder.", where=str(data), hint="Name a folder with --data.")
    skills = skills or (data / SKILLS if data is not None else None)
    found_data = find_data(data, split=split, splits=splits)
    settings = given(estimator, budget, how, compiler)
    steps = ProtocolFlags(editor=editor, checkpoints=checkpoints, select=select)
    request = RunRequest(agent=agent or "", steps=steps, settings=settings, runs=output / RUNS)
    planned = [] if agent is None else _plan_runs(found_data, skills, request, data)
    if plan:
        deliver("\n".join(cost_lines(planned)) + "\n", None)
        return 0
    errors, exit_code = run_all(planned, yes=yes, quiet=quiet)
    around = Surroundings(data=data, skills=skills, runs=output / RUNS, agent=agent, split=split, errors=errors)
    made = _collect(around, found_data, PlantedOptions(games=games, seed=seed_of_games))
    _deliver(made, output, _command(around, output), json=json)
    return exit_code


def _plan_runs(
    found: Mapping[str, BenchmarkData], skills: Path | None, request: RunRequest, data: Path | None
) -> list[PlannedRun]:
    """The runs of the benchmarks that have tasks and a skill, and no result in the data folder."""
    from skillsv_bench.cli.paper_runs import plan_run
    from skillsv_bench.paper.sources import find_results, find_skill

    known = {result.name for result in find_results([] if data is None else [data])[0]}
    return [
        plan_run(entry, skill, request)
        for name, entry in found.items()
        if name not in known and entry.loaded is not None and (skill := find_skill(skills, name)) is not None
    ]


def _collect(around: Surroundings, found_data: Mapping[str, BenchmarkData], options: PlantedOptions) -> ArtifactSet:
    """Everything that can be had, and what is missing."""
    from skillsv_bench.paper import sources
    from skillsv_bench.paper.artifacts import ArtifactSet
    from skillsv_bench.paper.benchmark_artifacts import benchmark_artifacts
    from skillsv_bench.paper.differences import describe_differences
    from skillsv_bench.paper.gaps import find_gaps
    from skillsv_bench.paper.planted_artifacts import planted_artifacts

    folders: Sequence[Path] = [place for place in (around.data, around.runs) if place is not None]
    results, notes = sources.find_results(folders)
    runs = sources.examine_runs(sources.find_runs(folders))
    real = ArtifactSet(
        artifacts=(*benchmark_artifacts(results), *sources.data_artifacts(found_data), *runs.artifacts),
        missing=find_gaps(results, found_data, around, runs.controls),
        notes=(
            *(sentence for result in results for sentence in describe_differences(result.results)),
            *notes,
            *runs.notes,
            "Figures 1 to 3 and Table 4 are drawings and notation: they have no data.",
        ),
    )
    return real + planted_artifacts(options)


def _deliver(made: ArtifactSet, output: Path, command: str, *, json: bool) -> None:
    files = made.write(output, command)
    if json:
        deliver(json_text({"schema": SCHEMA, "folder": str(output), "files": list(files), **made.as_json()}), None)
        return
    lines = [f"{len(made.artifacts)} tables and figures in {len(files)} files:"]
    lines += [f"  {artifact.name}: {artifact.place}, {artifact.title}" for artifact in made.artifacts]
    deliver("\n".join([*lines, "Missing:", *made.missing_lines()]) + "\n", None)
    print(f"Index: {output / 'index.md'}", file=sys.stderr)


def _command(around: Surroundings, output: Path) -> str:
    """The command as the index gives it."""
    given_words = {
        "--data": around.data,
        "--skills": around.skills if around.agent else None,
        "--agent": around.agent,
        "--split": None if around.split == "test" else around.split,
    }
    words = [f"{flag} {value}" for flag, value in given_words.items() if value is not None]
    return " ".join(["skillsv bench paper", *words, f"-o {output}"])
