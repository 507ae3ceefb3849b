"""The table of published benchmarks. To add one, add a folder beside this file and its name to `NAMES`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from skillsv.errors import SettingsError
from skillsv.extend.task_sources import AgentOptions, Grading, TaskSource
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.task import Task
from skillsv_bench.benchmark import Benchmark, Source

NAMES = ("livemath", "officeqa", "spreadsheetbench", "alfworld")
"""The benchmarks, each the name of a package in this folder."""


def find_benchmark(name: str) -> Benchmark:
    """Import and return the benchmark of this name."""
    if name not in NAMES:
        raise SettingsError(f"there is no benchmark '{name}'.", hint=f"The benchmarks are {', '.join(NAMES)}.")
    benchmark: Benchmark = import_module(f"skillsv_bench.{name}").BENCHMARK
    return benchmark


def find_source(name: str, variant: str) -> TaskSource | None:
    """Return a benchmark as the pipeline's task source, or None for an unknown name.

    `variant` is the split and, after a bar, the folder of manifests.
    """
    if name not in NAMES:
        return None
    return TaskSource(
        name=name,
        variant=variant,
        load_tasks=partial(_load_tasks, name, variant),
        make_agent=partial(_make_agent, name),
        make_verifier=partial(_make_verifier, name),
    )


def encode_variant(source: Source) -> str:
    """Write split and manifest folder as the text that a run records beside its data folder."""
    return source.split if source.splits is None else f"{source.split}|{source.splits.absolute()}"


def _load_tasks(name: str, variant: str, data: Path, grading: Grading) -> Sequence[Task]:
    del grading  # a benchmark grades by its own rules
    split, _, splits = variant.partition("|")
    return find_benchmark(name).load(Source(data=data, split=split, splits=Path(splits) if splits else None)).tasks


def _make_agent(name: str, spec: str, options: AgentOptions) -> Agent:
    return find_benchmark(name).make_agent(spec, options)


def _make_verifier(name: str, data: Path, tasks: Sequence[Task], grading: Grading) -> Verifier:
    del data, tasks, grading
    return find_benchmark(name).verifier()
