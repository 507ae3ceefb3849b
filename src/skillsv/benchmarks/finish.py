"""The last touch to a benchmark's task: its digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from skillsv.model.task import Task
from skillsv.sandbox.sources import digest_files


def finished(task: Task, *, rules: str, gold: Sequence[Path] = ()) -> Task:
    """The task with its digest: all that agent and verifier see, wherever the data lie.

    `rules` names the verifier and its version. `gold` are files that only the verifier reads: where a task has some,
    its target is a path on this machine, and their bytes count instead.
    """
    target = None if gold else task.target
    fields = (task.id, task.input, target, task.stratum, sorted(task.files), rules, dict(task.metadata))
    words = [msgspec.json.encode(fields, order="sorted").decode()]
    files = [task.files[name] for name in sorted(task.files)]
    return replace(task, verifier=rules, digest=digest_files(words, [*files, *gold]))
