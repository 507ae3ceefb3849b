"""The worker process on a node: it creates the agent and the verifier there, and runs rollouts with them."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillsv.errors import SettingsError, SkillSVError
from skillsv.model.rollout import Rollout
from skillsv.rollout.engine import Job, LocalEngine
from skillsv.rollout.ray.cluster_options import AgentFactory
from skillsv.rollout.ray.job_exchange import AnswerQueue, NumberedAnswer, NumberedJob
from skillsv.rollout.ray.transfer import ForgottenObject, PackedJob, Unpacker
from skillsv.sandbox.orphan_reaper import start_orphan_reaper
from skillsv.sandbox.redaction import RedactingStream
from skillsv.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """What a worker receives first. `secrets` are the forwarded variables; `factory` refers to the `AgentFactory`.

    `others` are the factories of further agents by their fingerprints.

    The driver sends it as the argument of a call: the cluster's head stores and shows the arguments of a constructor
    and the variables of a runtime environment.
    """

    factory: Any
    secrets: Mapping[str, str]
    fingerprint: str
    others: Mapping[str, Any] = field(default_factory=dict)
    version: str = __version__

    def __repr__(self) -> str:
        return f"WorkerSetup(secrets={sorted(self.secrets)})"


class NodeWorker:
    """An asynchronous actor, one per node. It returns errors that end the run: Ray would log raised ones."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir()).resolve() / f"skillsv-node-{uuid.uuid4().hex}"
        # Before the folder exists, so that it is removed whenever this process is killed.
        self._orphan_reaper = start_orphan_reaper(folder)
        folder.mkdir(mode=0o700)
        # The workspaces of rollouts lie there, too: all are removed when this process ends.
        tempfile.tempdir = str(folder)
        self._unpacker = Unpacker(folder, _fetch)
        self._engines: dict[str, LocalEngine] = {}  # by the agent's fingerprint
        self._queue = AnswerQueue(self._run)

    async def open(self, setup: WorkerSetup) -> SkillSVError | None:
        """Create agent and verifier; returns an error if they are not those of the driver."""
        os.environ.update(setup.secrets)
        sys.stdout = RedactingStream(sys.stdout, setup.secrets)
        sys.stderr = RedactingStream(sys.stderr, setup.secrets)
        if setup.version != __version__:
            return _different(f"skillsv {__version__} is installed there, {setup.version} here.")
        for fingerprint, ref in {setup.fingerprint: setup.factory, **setup.others}.items():
            factory: AgentFactory = await _fetch(ref)
            try:
                agent, verifier = factory()
            except SkillSVError as error:
                return error
            if agent.fingerprint != fingerprint:
                return _different("the agent there is another one: its program, files or settings differ.")
            self._engines[fingerprint] = LocalEngine(agent, verifier)
        return None

    async def exchange(self, jobs: Sequence[NumberedJob]) -> list[NumberedAnswer]:
        """Start these jobs, and return the answers to any jobs as soon as there are some."""
        return await self._queue.exchange(jobs)

    async def cancel(self, number: int) -> None:
        """Stop a job. Its answer says when it has stopped."""
        self._queue.cancel(number)

    async def _run(self, packed: PackedJob) -> Rollout | SkillSVError | None:
        """Execute one job. Returns None if this worker does not keep all that the driver thinks it has."""
        assert self._engines, "a worker is opened before it runs rollouts"
        try:
            skill, task = await self._unpacker.skill(packed.skill), await self._unpacker.task(packed.task)
        except ForgottenObject:
            return None
        job = Job(key=packed.key, skill=skill, task=task, timeout=packed.timeout, score_cut=packed.score_cut)
        try:
            return await self._engine_of(job).run(job)
        except SkillSVError as error:
            return error

    def _engine_of(self, job: Job) -> LocalEngine:
        only = next(iter(self._engines.values()))
        return only if len(self._engines) == 1 else self._engines[job.key.agent]

    async def process(self) -> int:
        """The number of this process."""
        return os.getpid()

    async def fetched(self) -> dict[str, int]:
        """How often this node fetched each digest."""
        return dict(self._unpacker.fetched)


async def _fetch(ref: Any) -> Any:
    return await ref


def _different(what: str) -> SettingsError:
    hint = "Every node needs the same skillsv, the agent's files at the same place, and variables by --forward-env."
    return SettingsError(what, hint=hint)
