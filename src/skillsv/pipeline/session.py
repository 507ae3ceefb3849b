"""Where rollouts run: in this process, or on the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from skillsv.errors import SettingsError
from skillsv.model.events import Note
from skillsv.model.protocols import Agent, Listener, Verifier
from skillsv.model.task import Task
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import Grading, ValuationJob, grading_of
from skillsv.rollout import Engine, LocalEngine
from skillsv.rollout.ray.cluster_options import LOCAL, ClusterOptions
from skillsv.sandbox.user_function import load_code
from skillsv.settings import Settings


def make_engine(job: ValuationJob, agent: Agent, verifier: Verifier, listener: Listener) -> Engine:
    """The engine that the settings name. On a cluster agent and verifier are made anew, by the job, on each node."""
    if job.settings.engine == "local":
        return LocalEngine(agent, verifier)
    if find_spec("ray") is None:
        raise SettingsError(
            "Running on a cluster needs the package ray.", hint="Install it: pip install 'skillsv[ray]'."
        )
    from skillsv.rollout.ray.engine import RayEngine

    recipe = partial(make_on_node, portable(job), Path.cwd())
    options = cluster_options(job.settings)
    return RayEngine(recipe, agent.fingerprint, options, note=lambda message: listener(Note(message=message)))


def cluster_options(settings: Settings) -> ClusterOptions:
    """The cluster's part of the settings. A cluster that is started here has one node, for all jobs."""
    _, _, address = settings.engine.partition(":")
    slots = settings.slots_per_node
    return ClusterOptions(
        address=address or LOCAL,
        slots_per_node=slots if address else slots or settings.jobs,
        resources=settings.node_resources,
        forward_env=settings.forward_env,
        jobs=settings.jobs,
    )


def portable(job: ValuationJob) -> ValuationJob:
    """The job as it is sent to nodes: places that mean the same everywhere, and no tasks (they travel one by one)."""
    settings = job.settings
    return replace(
        job,
        skill=job.skill.absolute(),
        tasks=job.tasks.absolute(),
        folder=job.folder.absolute(),
        settings=replace(settings, prices=_absolute(settings.prices), inspect_logs=_absolute(settings.inspect_logs)),
        task_source=replace(job.task_source, load_tasks=no_tasks),
    )


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).absolute())


def no_tasks(path: Path, grading: Grading) -> Sequence[Task]:
    """Stands for the tasks of a job that is sent to a node."""
    del path, grading
    return ()


def make_on_node(job: ValuationJob, folder: Path) -> tuple[Agent, Verifier]:
    """Agent and verifier, made on a node. It works from the same folder as the driver, where the node has that."""
    with contextlib.suppress(OSError):
        os.chdir(folder)
    grading = grading_of(job)
    try:
        agent = make_client(job.task_source.make_agent, job.agent, job.settings, job.folder)
        load_code(agent)
        return agent, job.task_source.make_verifier(job.tasks, (), grading)
    except SettingsError as error:
        hint = "On a node: only names in --forward-env are set there, and files must lie where they lie here."
        raise SettingsError(error.what, where=error.where, hint=hint) from error
