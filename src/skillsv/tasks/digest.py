"""The digest of a task: it changes with anything the agent or the verifier may see."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillsv.model.task import Task
from skillsv.sandbox.sources import digest_files
from skillsv.tasks.verifiers.specs import verifier_sources


class Digester:
    """Gives tasks their digests. Files behind a verifier are read once for all the tasks that it checks.

    `judge` is written into the verifier of tasks that leave their judge open: another judge may score otherwise.
    """

    def __init__(self, folder: Path, judge: str | None = None) -> None:
        self._folder = folder
        self._judge = judge
        self._verifiers: dict[str, str] = {}

    def __call__(self, task: Task, extra: Sequence[Path] = ()) -> Task:
        """The task with its digest: all fields, the bytes of its files, and of the program or function that checks it.

        Where files lie does not matter, only their names and bytes. `extra` are further files that the verifier reads.
        """
        if task.verifier == "judge" and self._judge:
            task = dataclasses.replace(task, verifier=f"judge:{self._judge}")
        spec = task.verifier if not task.verifier.startswith("harbor:") else "harbor"
        fields = (task.id, task.input, task.target, task.stratum, sorted(task.files), spec, task.all_metadata)
        words = [msgspec.json.encode(fields, order="sorted").decode(), self._verifier(task.verifier)]
        files = [task.files[name] for name in sorted(task.files)]
        return dataclasses.replace(task, digest=digest_files(words, [*files, *extra]))

    def _verifier(self, spec: str) -> str:
        if spec not in self._verifiers:
            self._verifiers[spec] = digest_files([], verifier_sources(spec, self._folder))
        return self._verifiers[spec]
