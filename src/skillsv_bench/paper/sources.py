"""What there is to make tables from: results of benchmark runs, run folders, data of benchmarks, skills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv import Run, load_run
from skillsv.errors import RecordsError, SkillSVError
from skillsv.extend.settings import compile_options
from skillsv_bench.benchmark import Benchmark, LoadedTasks, Source
from skillsv_bench.manifests import SPLITS
from skillsv_bench.paper.artifacts import Artifact, rows_table
from skillsv_bench.paper.benchmark_artifacts import FoundResult
from skillsv_bench.planted import rules_study, truncation
from skillsv_bench.protocol import paper_settings
from skillsv_bench.registry import NAMES, find_benchmark
from skillsv_bench.results import FILE, read_results
from skillsv_bench.tables import Cell, Table

SKILLS = "skills"
"""The folder of skills inside the data folder, one for each benchmark."""

_MANIFEST = "manifest.json"
"""The file that every run folder has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkData:
    """The data of one benchmark: the tasks of the split that is run, or the reason why there are none."""

    benchmark: Benchmark
    source: Source
    loaded: LoadedTasks | None = None
    error: str = ""


def find_results(folders: Iterable[Path]) -> tuple[list[FoundResult], list[str]]:
    """The result of each benchmark below these folders, first found first, and notes on those that are left out."""
    found: dict[str, FoundResult] = {}
    notes = []
    for folder in folders:
        for place in _result_folders(folder):
            try:
                result = FoundResult(folder=place, results=read_results(place))
            except RecordsError as error:
                notes.append(f"`{place}` was left out: {error}")
                continue
            if result.name in found:
                notes.append(
                    f"`{place}` was left out: `{found[result.name].folder}` is a result of {result.name}, too."
                )
            else:
                found[result.name] = result
    order = {name: place for place, name in enumerate(NAMES)}
    return sorted(found.values(), key=lambda result: order.get(result.name, len(order))), notes


def _result_folders(folder: Path) -> list[Path]:
    """Folders with results: the folder itself, those in it, and the results folder of a run in it."""
    patterns = (FILE, f"results/{FILE}", f"*/{FILE}", f"*/results/{FILE}")
    files = {file for pattern in patterns for file in folder.glob(pattern)} if folder.is_dir() else set()
    return sorted(file.parent for file in files)


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """Run folders: the folders themselves, and those in them."""
    manifests = {
        file for folder in folders for pattern in (_MANIFEST, f"*/{_MANIFEST}") for file in folder.glob(pattern)
    }
    return sorted(file.parent for file in manifests)


def find_data(folder: Path | None, *, split: str, splits: Path | None) -> Mapping[str, BenchmarkData]:
    """The data of the benchmarks that have a folder of their name: their tasks, or the reason why there are none."""
    found = {}
    for name in NAMES if folder is not None else ():
        place = (folder or Path()) / name
        if not place.is_dir():
            continue
        benchmark, source = find_benchmark(name), Source(data=place, split=split, splits=splits)
        try:
            found[name] = BenchmarkData(benchmark=benchmark, source=source, loaded=benchmark.load(source))
        except SkillSVError as error:
            found[name] = BenchmarkData(benchmark=benchmark, source=source, error=str(error))
    return found


def find_skill(folder: Path | None, name: str) -> Path | None:
    """The skill of a benchmark in a folder of skills: a folder or a Markdown file of the benchmark's name."""
    places = () if folder is None else (folder / name, folder / f"{name}.md")
    return next((place for place in places if place.exists()), None)


def data_artifacts(data: Mapping[str, BenchmarkData]) -> tuple[Artifact, ...]:
    """The tables of splits and panels, of the benchmarks whose data are here."""
    if not data:
        return ()
    source = ", ".join(f"`{entry.source.data}`" for entry in data.values())
    splits = [_splits_row(entry) for entry in data.values()]
    panels = [row for entry in data.values() if (row := _panels_row(entry)) is not None]
    columns = ("benchmark", *(f"{split}{of}" for split in SPLITS for of in ("", " (paper)")), "max turns")
    title = "Tasks of each split"
    made = [
        Artifact(
            name="table-6-datasets",
            place="Table 6",
            title=title,
            source=source,
            table=Table(name="table-6-datasets", title=title, columns=columns, rows=tuple(splits)),
            differences=("An empty cell is a split that the data folder does not hold.",),
        )
    ]
    if panels:
        title = "Panels A and B"
        columns = ("benchmark", "split", "tasks", "panel A", "panel A (paper)", "panel B", "panel B (paper)")
        table = Table(name="table-7-panels", title=title, columns=columns, rows=tuple(panels))
        made.append(Artifact(name="table-7-panels", place="Table 7", title=title, source=source, table=table))
    return tuple(made)


def _splits_row(entry: BenchmarkData) -> tuple[Cell, ...]:
    cells: list[Cell] = [entry.benchmark.title]
    for split in SPLITS:
        cells += [_count_tasks(entry, split), entry.benchmark.paper.tasks.get(split)]
    return (*cells, entry.benchmark.paper.turns)


def _count_tasks(entry: BenchmarkData, split: str) -> int | None:
    try:
        loaded = entry.benchmark.load(Source(data=entry.source.data, split=split, splits=entry.source.splits))
    except SkillSVError:
        return None
    return len(loaded.tasks)


def _panels_row(entry: BenchmarkData) -> tuple[Cell, ...] | None:
    if entry.loaded is None or len(entry.loaded.tasks) < 2:
        return None
    tasks, paper = len(entry.loaded.tasks), entry.benchmark.paper
    settings, _ = paper_settings(entry.benchmark, tasks, {})
    sizes = (settings.panel_a, paper.panel_a, settings.panel_b, paper.panel_b)
    return (entry.benchmark.title, entry.source.split, tasks, *sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFindings:
    """What the records of runs allow beside their results, and notes on runs that cannot be read.

    `controls` are the benchmarks that have a run without truncation.
    """

    artifacts: tuple[Artifact, ...]
    notes: tuple[str, ...]
    controls: frozenset[str]


def examine_runs(folders: Sequence[Path]) -> RunFindings:
    """Read the records of all runs: the structure of their skills, and the control where chains are untruncated."""
    made, notes, controls = [], [], set()
    for folder in folders:
        try:
            run = load_run(folder)
        except SkillSVError as error:
            notes.append(f"`{folder}` was left out: {error}")
            continue
        made.append(_structure(folder, run))
        stored = run.stored
        if len(stored.records) > 1 and all(record.plan.tolerance is None for record in stored.records):
            made.append(_control(folder, run))
            controls.add(str(stored.manifest["about"].get("kit", "")))
    return RunFindings(artifacts=tuple(made), notes=tuple(notes), controls=frozenset(controls))


def _structure(folder: Path, run: Run) -> Artifact:
    name, title = f"table-5-rule-structure-{folder.name}", f"{folder.name}: structure without R3, R8 or R9"
    rows = rules_study.ablate_skill(run.skill.compiled.skill, compile_options(run.stored.settings))
    return Artifact(
        name=name,
        place="Table 5, footnote",
        title=title,
        source=f"`{folder}`",
        table=rows_table(name, title, rows, ()),
        differences=("What all rules find counts as what a unit needs, so a wrong edge counts as broken, too.",),
    )


def _control(folder: Path, run: Run) -> Artifact:
    name, title = f"appendix-truncation-{folder.name}", f"{folder.name}: truncation against an untruncated control"
    rows = truncation.control_truncation(run.skill.compiled, [run.stored.records])
    return Artifact(
        name=name,
        place="Appendix, calibrating truncation",
        title=title,
        source=f"`{folder}`",
        table=rows_table(name, title, rows, truncation.SCORE_COLUMNS),
        differences=("The true sum on the whole panel is not known for a real agent: those columns are empty.",),
    )
