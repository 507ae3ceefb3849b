"""Selection on the validation split: whole skills before the valuation, versions of the valued skill after it.

The paper values, of several optimizers' skills, the one with the highest validation score, and freezes it before the
test panels are dealt. In the same way a version of the valued skill (as it is, pruned, rewritten) is chosen on the
validation split, and panel B scores the chosen one alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from skillsv import Skill, prune, render
from skillsv.errors import TaskError, Unavailable
from skillsv.extend.comparison import intervals
from skillsv.extend.runs import PreparedRun, ReopenedRun, RunFolder, Stop, reopen, score_renderings
from skillsv.extend.sandbox import write_tree
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Listener
from skillsv.model.task import Task
from skillsv.model.value import Interval
from skillsv_bench.benchmark import Benchmark, LoadedTasks, Source
from skillsv_bench.benchmark_run import BenchmarkRun
from skillsv_bench.manifests import has_split
from skillsv_bench.refinement import RefinementResult, ValuedSkill, compare_version

VALIDATION = "val"
"""The split that versions are selected on."""

PREDICTED_LOSSES = (0.0, 1.0, 2.0, 5.0)
"""Pruned versions: each loses at most so many points, as the values of panel A predict."""

ORIGINAL = "original"
"""The name of the skill as it was valued."""

REFINED = "refined"
"""The name of the version that the editor wrote."""

SELECTED = "selected"
"""The folder of the selected version in a run folder."""

PURPOSE = "selection"
"""The name of these rollouts in the ledger: they do not count as rollouts of a valuation."""

STREAM = 19
"""Random stream of the intervals of validation scores."""

_ROUNDING = 12
"""Digits of a mean score that count when versions are compared: the order of a sum changes the later ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a skill as the agent receives it, and its size in tokens."""

    name: str
    rendering: Rendering
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionScore:
    """The score of a version on the validation split."""

    name: str
    tokens: int
    score: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """All versions on the tasks of the validation split that have a score for each of them, and the chosen one.

    The chosen version has the highest score; of equal ones the shortest, then the first.
    """

    tasks: int
    versions: tuple[VersionScore, ...]

    @property
    def chosen(self) -> str:
        """The name of the chosen version."""
        best = max(self.versions, key=lambda version: (round(version.score.value, _ROUNDING), -version.tokens))
        return best.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionResult:
    """The selected version of the valued skill, and its comparison with the original on panel B.

    `confirmed` is None where the original was chosen.
    """

    selection: Selection
    confirmed: RefinementResult | None


def load_validation(benchmark: Benchmark, source: Source) -> tuple[LoadedTasks | None, tuple[str, ...]]:
    """Load the validation split beside a test split; None without it, with a note where it cannot be read."""
    if source.split != "test" or not has_split(source, benchmark.manifests, VALIDATION):
        return None, ()
    try:
        return benchmark.load(replace(source, split=VALIDATION)), ()
    except TaskError as error:
        return None, (f"Nothing is selected on the validation split: {error.what}",)


async def select_skill(
    benchmark_run: BenchmarkRun, prepared: PreparedRun, folder: RunFolder, listener: Listener, stop: Stop
) -> tuple[BenchmarkRun, Selection]:
    """Choose one of the whole skills; return the run of the chosen one."""
    paths = {str(path): path for path in (benchmark_run.skill, *benchmark_run.candidates)}
    versions = [_version_of_path(name, path, benchmark_run) for name, path in paths.items()]
    selection = await score_versions(versions, benchmark_run.validation, prepared, folder, listener, stop)
    return replace(benchmark_run, skill=paths[selection.chosen], candidates=()), selection


def _version_of_path(name: str, path: Path, benchmark_run: BenchmarkRun) -> Version:
    settings = benchmark_run.settings
    skill = Skill(replace(benchmark_run, skill=path).job.compile(), path)
    rendering = render(skill, keep="all", tokenizer=settings.tokenizer)
    return Version(name=name, rendering=rendering, tokens=rendering.tokens or 0)


async def select_version(valued: ValuedSkill, refined: RefinementResult | None) -> SelectionResult:
    """Choose a version of the valued skill on the validation split, and score the chosen one on panel B."""
    reopened = reopen(valued.folder.path, valued.budget.make_overrides())
    versions = {version.name: version for version in make_versions(valued, refined)}
    tasks = valued.benchmark_run.validation
    selection = await score_versions(
        list(versions.values()), tasks, reopened, valued.folder, valued.budget, valued.stop
    )
    if selection.chosen == ORIGINAL:
        return SelectionResult(selection=selection, confirmed=None)
    if selection.chosen == REFINED:
        return SelectionResult(selection=selection, confirmed=refined)
    rendering = versions[selection.chosen].rendering
    place = valued.folder.path / SELECTED / rendering.digest[:16]
    if not place.exists():
        write_tree(rendering, place)
    return SelectionResult(selection=selection, confirmed=await compare_version(valued, place))


def make_versions(valued: ValuedSkill, refined: RefinementResult | None) -> list[Version]:
    """The original, the pruned versions and the rewritten one; each different rendering once."""
    run = valued.run
    pruned = {f"pruned, {loss:g} points": prune(run, max_drop=loss).pruned for loss in PREDICTED_LOSSES}
    original = next(iter(pruned.values()))
    versions = [Version(name=ORIGINAL, rendering=original.before, tokens=original.tokens_before)]
    versions += [
        Version(name=name, rendering=shorter.after, tokens=shorter.tokens_after) for name, shorter in pruned.items()
    ]
    if refined is not None:
        versions.append(Version(name=REFINED, rendering=refined.rendering, tokens=refined.tokens_after))
    different: dict[str, Version] = {}
    for version in versions:
        different.setdefault(version.rendering.digest, version)
    return list(different.values())


def count_selection_rollouts(benchmark_run: BenchmarkRun, panel_b: int) -> int:
    """The most rollouts that both selections run: every version on the validation split, the chosen one on panel B."""
    tasks = len(benchmark_run.validation)
    if not tasks:
        return 0
    skills = len(benchmark_run.candidates)
    versions = 1 + len(PREDICTED_LOSSES) + (1 if benchmark_run.editor else 0)
    return (skills + versions) * tasks + panel_b


async def score_versions(  # noqa: PLR0917 - the versions and tasks, then the parts of a run in the order they act
    versions: Sequence[Version],
    tasks: Sequence[Task],
    source: PreparedRun | ReopenedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop,
) -> Selection:
    """Score all versions on all tasks through the ledger of the run folder."""
    renderings = {version.name: version.rendering for version in versions}
    scores = await score_renderings(renderings, tasks, source, folder, listener, stop, purpose=PURPOSE)
    settings = source.job.settings
    rng = np.random.default_rng([settings.seed, STREAM])
    return _compare(versions, scores, level=settings.level, rng=rng)


def _compare(
    versions: Sequence[Version],
    scores: Mapping[str, Sequence[float | None]],
    *,
    level: float,
    rng: np.random.Generator,
) -> Selection:
    table = np.array([scores[version.name] for version in versions], dtype=np.float64)
    complete = table[:, ~np.isnan(table).any(axis=0)]
    if not complete.shape[1]:
        raise Unavailable(
            "no task of the validation split has a score for every version.",
            hint="Repair the agent or the verifier and run the same command again: it resumes.",
        )
    return Selection(
        tasks=complete.shape[1],
        versions=tuple(
            VersionScore(name=version.name, tokens=version.tokens, score=score)
            for version, score in zip(versions, intervals(complete, level, rng), strict=True)
        ),
    )
