"""Runs one evaluation of Inspect over some samples, without terminal output and without files left behind."""

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
"""The environment variable by which Inspect finds its trace file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EvaluationSettings:
    """What all evaluations of one agent share. `seconds` limits one sample; `logs` is the folder of the logs."""

    task: Task
    seconds: int | None
    logs: Path | None

    @property
    def time_limit(self) -> int | None:
        """The shorter of SkillSV's limit and the limit of the Inspect task."""
        limits = [limit for limit in (self.seconds, self.task.time_limit) if limit is not None]
        return min(limits, default=None)

    @property
    def timeout_is_failure(self) -> bool:
        """Whether SkillSV's limit is the shorter one. The limit of the Inspect task is part of the task."""
        own = self.task.time_limit
        return self.seconds is not None and (own is None or self.seconds < own)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """The samples that ran, by id, and the error that kept the others from running."""

    samples: Mapping[int | str, EvalSample]
    error: str | None


def sample_seconds(timeout: float | None) -> int | None:
    """The time limit of one sample: half of a rollout's, because a rollout may wait for one earlier evaluation."""
    return None if timeout is None else max(1, math.floor(timeout / 2))


async def evaluate(settings: EvaluationSettings, samples: Sequence[Sample], *, scored: bool) -> EvaluationResult:
    """Run the samples concurrently; `scored`: the scorer of the task runs, too. An error of one ends no other.

    A sample runs once (one epoch): a repetition is a replicate, which is a sample of its own.
    """
    _silence_inspect()
    task = task_with(settings.task, dataset=MemoryDataset(list(samples)))
    with _log_folder(settings.logs) as folder:
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
            time_limit=settings.time_limit,
            max_samples=len(samples),
            ctl_server=False,
            acp_server=False,
        )
        full_log = await read_eval_log_async(log.location, resolve_attachments="core", exclude_fields={"events"})
    error = None if full_log.error is None else full_log.error.message
    return EvaluationResult(samples={sample.id: sample for sample in full_log.samples or []}, error=error)


@functools.cache
def _silence_inspect() -> None:
    """Switch off terminal output, once per process, and put the trace file into a folder that is removed at exit.

    A trace file that the user named stays. Inspect opens its trace file with its logger, and compresses it at exit. The
    folder is registered for removal before that, so it is removed after that.
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
def _log_folder(logs: Path | None) -> Iterator[Path]:
    """The folder for the log: `logs`, or a temporary folder that Inspect's viewer does not learn about."""
    if logs is not None:
        yield logs
        return
    with tempfile.TemporaryDirectory(prefix="skillsv-inspect-") as folder, _restore_file(view_last_eval_file()):
        yield Path(folder)


@contextlib.contextmanager
def _restore_file(file: Path) -> Iterator[None]:
    """Restores the content of a file at the end; Inspect writes the path of its last log into it."""
    before = file.read_bytes() if file.is_file() else None
    try:
        yield
    finally:
        if before is None:
            file.unlink(missing_ok=True)
        elif file.read_bytes() != before:
            file.write_bytes(before)
