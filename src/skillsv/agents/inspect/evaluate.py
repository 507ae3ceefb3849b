"""One evaluation of Inspect over some samples: silent, never ended by the error of one, and without a trace."""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai import Task, eval_async, task_with
from inspect_ai._util.logger import init_logger
from inspect_ai._view.notify import view_last_eval_file
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSample, read_eval_log_async
from inspect_ai.util._display import init_display_type

TRACE_FILE = "INSPECT_TRACE_FILE"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What all evaluations of one agent share. `seconds` is the time for one sample, `logs` where logs are kept."""

    task: Task
    seconds: int | None
    logs: Path | None

    @property
    def time_limit(self) -> int | None:
        """The shorter of our limit and the task's own."""
        limits = [limit for limit in (self.seconds, self.task.time_limit) if limit is not None]
        return min(limits, default=None)

    @property
    def cut_short(self) -> bool:
        """Whether a sample out of time is our doing, and has no answer. The task's own limit is part of the task."""
        own = self.task.time_limit
        return self.seconds is not None and (own is None or self.seconds < own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The samples that ran, by id, and what ended the evaluation before the others could."""

    samples: Mapping[int | str, EvalSample]
    trouble: str | None


def seconds_of(timeout: float | None) -> int | None:
    """The time for one sample: half of a rollout's, because a rollout may first wait for the evaluation before it."""
    return None if timeout is None else max(1, math.floor(timeout / 2))


async def evaluate(plan: Plan, samples: Sequence[Sample], *, scored: bool) -> Evaluated:
    """Run the samples at once, scored by the task or not. Each has its answer or its error; none ends the others.

    A sample runs once: repetitions are replicates, which are asked for one by one.
    """
    _be_silent()
    task = task_with(plan.task, dataset=MemoryDataset(list(samples)))
    with _log_folder(plan.logs) as folder:
        (log,) = await eval_async(
            task,
            log_dir=str(folder),
            log_level="notset",
            log_realtime=False,
            epochs=1,
            score=scored,
            fail_on_error=False,
            retry_on_error=0,
            score_on_error=False,
            time_limit=plan.time_limit,
            max_samples=len(samples),
            ctl_server=False,
            acp_server=False,
        )
        whole = await read_eval_log_async(log.location, resolve_attachments="core", exclude_fields={"events"})
    trouble = None if whole.error is None else whole.error.message
    return Evaluated(samples={sample.id: sample for sample in whole.samples or []}, trouble=trouble)


@functools.cache
def _be_silent() -> None:
    """Once in a process: nothing on the terminal, and the trace file goes away with the process, unless it was named.

    Inspect opens its trace file with its logger and packs it when the process ends; our removal is registered before
    that, so it comes after.
    """
    init_display_type("none")
    named = os.environ.get(TRACE_FILE)
    if named is None:
        folder = tempfile.mkdtemp(prefix="skillsv-inspect-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ[TRACE_FILE] = str(Path(folder) / "trace.log")
    try:
        init_logger("notset")
    finally:
        if named is None:
            del os.environ[TRACE_FILE]


@contextlib.contextmanager
def _log_folder(kept: Path | None) -> Iterator[Path]:
    """Where the log is written: kept where asked for, else gone at once, and its viewer is not sent there."""
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="skillsv-inspect-") as folder, _as_before(view_last_eval_file()):
        yield Path(folder)


@contextlib.contextmanager
def _as_before(file: Path) -> Iterator[None]:
    """Leaves a file as it was: Inspect notes its last log there."""
    before = file.read_bytes() if file.is_file() else None
    try:
        yield
    finally:
        if before is None:
            file.unlink(missing_ok=True)
        elif file.read_bytes() != before:
            file.write_bytes(before)
