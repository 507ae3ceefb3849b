"""Where the tasks, the agent and the verifier of a run come from: the user's own files, or a published benchmark.

A run records the name of its kit, so that a later command on it finds the same tasks and makes the same agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import RecordsError
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.task import Task
from skillsv.tasks import load_tasks, make_verifier, tasks_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """How tasks that do not say it themselves are graded: by this verifier, or by this judge."""

    verifier: str | None = None
    judge: str | None = None
    make_judge: Callable[[str], Agent] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """Three functions that every run needs. `name` is empty for the user's own tasks; `variant` is the kit's own.

    All three can be sent to another machine: they are functions of modules, or partial applications of such.
    """

    name: str = ""
    variant: str = ""
    load_tasks: Callable[[Path, Grading], Sequence[Task]]
    make_agent: Callable[[str, AgentOptions], Agent]
    make_verifier: Callable[[Path, Sequence[Task], Grading], Verifier]


def _own_tasks(path: Path, grading: Grading) -> Sequence[Task]:
    return load_tasks(path, verifier=grading.verifier, judge=grading.judge)


def _own_verifier(path: Path, tasks: Sequence[Task], grading: Grading) -> Verifier:
    return make_verifier(tasks, folder=tasks_folder(path), default=grading.verifier, judge=grading.make_judge)


OWN_FILES = Kit(load_tasks=_own_tasks, make_agent=make_agent, make_verifier=_own_verifier)
"""Tasks from files, agents by their specification, the verifiers that the tasks name."""


def own_files_only(name: str, variant: str) -> Kit:
    """The kit of a run on the user's own files. Raises RecordsError where the run used another one."""
    del variant
    if name:
        raise RecordsError(f"this run is of the benchmark {name}, whose tasks cannot be read here.")
    return OWN_FILES
