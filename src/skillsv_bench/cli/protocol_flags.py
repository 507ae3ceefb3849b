"""The flags of the protocol's later steps, and the benchmark run that all flags together ask for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from skillsv.errors import SettingsError

if TYPE_CHECKING:
    from skillsv.model.task import Task
    from skillsv_bench.benchmark import Benchmark, LoadedTasks, Source
    from skillsv_bench.benchmark_run import BenchmarkRun


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProtocolFlags:
    """Which steps of the protocol run beside the valuation and the baselines."""

    candidate: Annotated[
        tuple[Path, ...],
        Parameter(negative=(), help="Another whole skill; the best on the validation split is valued. Repeatable."),
    ] = ()
    select: Annotated[bool, Parameter(help="Select versions on the validation split, where there is one.")] = True
    editor: Annotated[str | None, Parameter(help="Editor that refines the skill: model:..., command:...")] = None
    checkpoints: Annotated[int, Parameter(help="Checkpoints of each pruning curve between its ends.")] = 10

    def make_run(  # noqa: PLR0917 - what the command line gives, in its order
        self,
        bench: Benchmark,
        source: Source,
        loaded: LoadedTasks,
        skill: Path,
        agent: str,
        given_settings: dict[str, Any],
    ) -> tuple[BenchmarkRun, tuple[str, ...]]:
        """Return the benchmark run with its settings, and notes for a reader about tasks, panels and splits."""
        from skillsv_bench.benchmark_run import BenchmarkRun, paper_settings

        if self.checkpoints < 1:
            raise SettingsError("a curve needs a checkpoint.", hint="Give --checkpoints at least 1.")
        validation, selection_notes = self._load_validation(bench, source)
        settings, notes = paper_settings(bench, len(loaded.tasks), given_settings)
        rejected = [f"{len(loaded.rejected)} tasks cannot be scored and are left out."] if loaded.rejected else []
        benchmark_run = BenchmarkRun(
            benchmark=bench,
            source=source,
            loaded=loaded,
            skill=skill,
            agent=agent,
            settings=settings,
            checkpoints=self.checkpoints,
            editor=self.editor,
            candidates=self.candidate,
            validation=validation,
        )
        return benchmark_run, (*loaded.notes, *rejected, *notes, *selection_notes)

    def _load_validation(self, bench: Benchmark, source: Source) -> tuple[tuple[Task, ...], tuple[str, ...]]:
        """The tasks of the validation split, none where nothing is selected, and notes."""
        from skillsv_bench.selection import load_validation

        if not self.select and self.candidate:
            raise SettingsError("--candidate selects a skill, --no-select forbids it.", hint="Give one of them.")
        validation, notes = load_validation(bench, source) if self.select else (None, ())
        if validation is None and self.candidate:
            raise SettingsError(
                " ".join(["skills are selected on the validation split, and there is none.", *notes]),
                hint="Put the released manifests beside the data, or leave --candidate out.",
            )
        return () if validation is None else validation.tasks, notes
