"""What runs on a node: one process that makes the agent and the verifier there, and runs rollouts with them."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillsv import __version__
from skillsv.errors import SettingsError, SkillSVError
from skillsv.model.rollout import Rollout
from skillsv.rollout.engine import Job, LocalEngine
from skillsv.rollout.ray.cluster_options import Recipe
from skillsv.rollout.ray.transfer import NodeCache, Order
from skillsv.sandbox.orphan_reaper import start_orphan_reaper
from skillsv.sandbox.redaction import RedactingStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a worker is told first. `secrets` are the forwarded variables; `recipe` fetches what makes the agent.

    It goes from the driver straight to the worker, as the argument of a call: what is given to a constructor, or to a
    runtime environment, is kept by the cluster's head, and shown.
    """

    recipe: Any
    secrets: Mapping[str, str]
    fingerprint: str
    version: str = __version__

    def __repr__(self) -> str:
        return f"Opening(secrets={sorted(self.secrets)})"


class NodeWorker:
    """One per node, as an asynchronous actor. Errors that end the run are returned: raised ones would be logged."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir()).resolve() / f"skillsv-node-{uuid.uuid4().hex}"
        self._warden = start_orphan_reaper(
            folder
        )  # before the folder is there, so that none is left whenever this is killed
        folder.mkdir(mode=0o700)
        tempfile.tempdir = str(folder)  # the working folders of rollouts, too: all goes when this process goes
        self._shelf = NodeCache(folder, _fetch)
        self._engine: LocalEngine | None = None

    async def open(self, opening: Opening) -> SkillSVError | None:
        """Make agent and verifier; says what is wrong where they are not those of the driver."""
        os.environ.update(opening.secrets)
        sys.stdout = RedactingStream(sys.stdout, opening.secrets)
        sys.stderr = RedactingStream(sys.stderr, opening.secrets)
        if opening.version != __version__:
            return _different(f"skillsv {__version__} is installed there, {opening.version} here.")
        recipe: Recipe = await _fetch(opening.recipe)
        try:
            agent, verifier = recipe()
        except SkillSVError as error:
            return error
        if agent.fingerprint != opening.fingerprint:
            return _different("the agent there is another one: its program, files or settings differ.")
        self._engine = LocalEngine(agent, verifier)
        return None

    async def run(self, order: Order) -> Rollout | SkillSVError:
        """Execute one job."""
        assert self._engine is not None, "a worker is opened before it gets work"
        skill, task = await self._shelf.skill(order.skill), await self._shelf.task(order.task)
        job = Job(key=order.key, skill=skill, task=task, timeout=order.timeout, score_cut=order.score_cut)
        try:
            return await self._engine.run(job)
        except SkillSVError as error:
            return error

    async def process(self) -> int:
        """The number of this process, for those who look after it."""
        return os.getpid()

    async def fetched(self) -> dict[str, int]:
        """How often each digest travelled to this node."""
        return dict(self._shelf.fetched)


async def _fetch(ref: Any) -> Any:
    return await ref


def _different(what: str) -> SettingsError:
    hint = "Every node needs the same skillsv, the agent's files at the same place, and variables by --forward-env."
    return SettingsError(what, hint=hint)
