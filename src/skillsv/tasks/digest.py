"""The digest of a task: it changes with anything the agent or the verifier may see."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillsv.model.task import Task
from skillsv.sandbox.sources import digest_files
from skillsv.tasks.verifiers.specs import verifier_sources


def with_digest(task: Task, folder: Path, extra: Sequence[Path] = ()) -> Task:
    """The task with its digest: all fields, the bytes of its files, and of the program or function that checks it.

    Where the files lie does not matter, only their names and bytes. `extra` are further files that the verifier reads.
    """
    spec = task.verifier if not task.verifier.startswith("harbor:") else "harbor"
    fields = (task.id, task.input, task.target, task.stratum, sorted(task.files), spec, dict(task.metadata))
    words = [msgspec.json.encode(fields, order="sorted").decode()]
    files = [task.files[name] for name in sorted(task.files)]
    digest = digest_files(words, [*files, *verifier_sources(task.verifier, folder), *extra])
    return dataclasses.replace(task, digest=digest)
