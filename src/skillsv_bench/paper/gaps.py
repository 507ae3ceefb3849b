"""What is missing for the rest of the paper: which data, which agent, and a command that would produce it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillsv_bench.paper.artifacts import MissingArtifact
from skillsv_bench.paper.benchmark_artifacts import FoundResult
from skillsv_bench.paper.sources import BenchmarkData, find_skill
from skillsv_bench.registry import NAMES, find_benchmark

_TRUNCATION = "Appendix, calibrating truncation"
"""The place of the truncation control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where `skillsv bench paper` looked, for the commands that it suggests."""

    data: Path | None
    skills: Path | None
    runs: Path
    agent: str | None
    split: str = "test"
    errors: Mapping[str, str] = field(default_factory=dict)

    def command(self, name: str, *more: str, folder: str | None = None) -> str:
        """The command that runs one benchmark by the paper's protocol, in a run folder of its name or another one."""
        data = (self.data or Path("DATA")) / name
        skill = find_skill(self.skills, name) or (self.skills or Path("SKILLS")) / name
        agent = self.agent or "model:PROVIDER:NAME"
        words = [f"skillsv bench {name} --data {data} --skill {skill} --agent {agent} --regions split"]
        words += [] if self.split == "test" else [f"--split {self.split}"]
        return " ".join([*words, f"--run-dir {self.runs / (folder or name)}", *more])


def find_gaps(
    found: Sequence[FoundResult],
    data: Mapping[str, BenchmarkData],
    around: Surroundings,
    controls: frozenset[str] = frozenset(),
) -> tuple[MissingArtifact, ...]:
    """Everything of the paper that was not written. `controls` are the benchmarks with untruncated chains."""
    have = {result.name: result for result in found}
    gaps = [gap for name in NAMES for gap in _benchmark_gaps(name, have.get(name), data.get(name), around)]
    unrefined = [name for name in NAMES if name not in have or have[name].results.get("refinement") is None]
    if unrefined:
        needs = "a run with an editor is needed for each."
        command = around.command(unrefined[0], "--editor model:PROVIDER:NAME", "--max-rollouts N")
        gaps.append(MissingArtifact(place="Table 3", title=_titles(unrefined), needs=needs, command=command))
    truncated = [name for name in NAMES if name not in controls]
    if truncated:
        needs = "chains that were run without truncation are needed, in a run folder of their own."
        command = around.command(truncated[0], "--tolerance off", "--max-rollouts N", folder=f"{truncated[0]}-control")
        gaps.append(MissingArtifact(place=_TRUNCATION, title=_titles(truncated), needs=needs, command=command))
    if len(have) < 2:
        needs = "pooling needs the results of at least two benchmarks."
        title, command = "pooled differences of areas", "skillsv bench compare RUN RUN -o OUT"
        gaps.append(MissingArtifact(place="Figure 5", title=title, needs=needs, command=command))
    gaps.append(
        MissingArtifact(
            place="Figure 4b",
            title="a redundant pair of a real skill",
            needs="pairs are tested on a finished run, with rollouts of its agent.",
            command=f"skillsv pairs {around.runs / 'spreadsheetbench'}",
        )
    )
    return tuple(gaps)


def _titles(names: Sequence[str]) -> str:
    return ", ".join(find_benchmark(name).title for name in names)


def _benchmark_gaps(
    name: str, result: FoundResult | None, data: BenchmarkData | None, around: Surroundings
) -> Iterator[MissingArtifact]:
    title = find_benchmark(name).title
    if result is None:
        figures = "5, 6, 7, 8, 9 and 11" if name == "officeqa" else "5, 6, 7, 8 and 11"
        yield MissingArtifact(
            place=f"Tables 1 and 2, Figures {figures}",
            title=title,
            needs=_needs(name, data, around),
            command=around.command(name, "--max-rollouts N"),
        )
        return
    if "judge" not in {curve["method"] for curve in result.results["held_out"]["curves"]}:
        yield MissingArtifact(
            place="Figures 5, 6 and 8",
            title=f"{title}, the judge's curve",
            needs="the run had no judge.",
            command=around.command(name, "--judge model:PROVIDER:NAME", "--max-rollouts N"),
        )
    if name == "officeqa" and not _has_content(result):
        yield MissingArtifact(
            place="Figure 9",
            title=f"{title}, decision map",
            needs="the run had one operator.",
            command=around.command(name, "--operators delete,pad", "--max-rollouts N"),
        )


def _needs(name: str, data: BenchmarkData | None, around: Surroundings) -> str:
    benchmark = find_benchmark(name)
    if data is None:
        return f"there are no data in {(around.data or Path('DATA')) / name}. {benchmark.data_origin}"
    if data.error:
        return f"the data cannot be read: {data.error}"
    if name in around.errors:
        return f"the run did not end: {around.errors[name]}"
    if around.agent is None:
        return "the data are here; an agent is needed."
    return f"there is no skill {(around.skills or Path('SKILLS')) / name}."


def _has_content(result: FoundResult) -> bool:
    return any(unit.get("content") for unit in result.results["valuation"]["units"])
