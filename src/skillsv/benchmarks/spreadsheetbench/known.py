"""Agents that need no model: the gold workbook put into place, and the workbook left as it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from skillsv.benchmarks.spreadsheetbench.prompt import INPUT
from skillsv.benchmarks.spreadsheetbench.verify import OUTPUT
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox.workspace import disk_trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Copier:
    """Hands in a workbook that is there already."""

    fingerprint: str
    origin: Callable[[Task], Path]

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""
        del skill, replicate
        with disk_trouble(workspace):
            await anyio.to_thread.run_sync(shutil.copyfile, self.origin(task), workspace / OUTPUT)
        return Outcome(answer="", usage=Usage(input_tokens=0, output_tokens=0, usd=0.0), opened=False)


def reference() -> Copier:
    """Hands in the gold workbook."""
    return Copier(fingerprint="spreadsheetbench-reference/1", origin=lambda task: Path(task.target))


def noop() -> Copier:
    """Hands in the workbook as it got it."""
    return Copier(fingerprint="spreadsheetbench-noop/1", origin=lambda task: task.files[INPUT])
