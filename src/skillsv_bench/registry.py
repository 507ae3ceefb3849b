"""The table of published benchmarks. A new one is a folder beside this file and one row here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from skillsv.agents import AgentOptions
from skillsv.errors import SettingsError
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.task import Task
from skillsv.pipeline.job import Grading, TaskSource
from skillsv_bench.benchmark import Benchmark, Source

NAMES = ("livemath", "officeqa", "spreadsheetbench", "alfworld")


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name; its room is imported only now."""
    if name not in NAMES:
        raise SettingsError(f"there is no benchmark '{name}'.", hint=f"The benchmarks are {', '.join(NAMES)}.")
    found: Benchmark = import_module(f"skillsv_bench.{name}").BENCHMARK
    return found


def find_source(name: str, variant: str) -> TaskSource | None:
    """A benchmark as the pipeline wants it, None for an unknown name.

    `variant` is the split and, after a bar, the folder of manifests.
    """
    if name not in NAMES:
        return None
    return TaskSource(
        name=name,
        variant=variant,
        load_tasks=partial(_load, name, variant),
        make_agent=partial(_agent, name),
        make_verifier=partial(_verifier, name),
    )


def variant_of(source: Source) -> str:
    """The part of a source that a run records beside its data folder."""
    return source.split if source.splits is None else f"{source.split}|{source.splits.absolute()}"


def _load(name: str, variant: str, data: Path, grading: Grading) -> Sequence[Task]:
    del grading  # a benchmark grades by its own rules
    split, _, splits = variant.partition("|")
    return benchmark(name).load(Source(data=data, split=split, splits=Path(splits) if splits else None)).tasks


def _agent(name: str, spec: str, options: AgentOptions) -> Agent:
    return benchmark(name).make_agent(spec, options)


def _verifier(name: str, data: Path, tasks: Sequence[Task], grading: Grading) -> Verifier:
    del data, tasks, grading
    return benchmark(name).verifier()
