"""Tasks, agents and verifiers that a Python program passes as objects, as a task source that the pipeline reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skillsv.agents import AgentOptions, make_agent, refuse_sandbox
from skillsv.agents.evaluate import EvaluateAgent
from skillsv.agents.python import PythonAgent
from skillsv.errors import SettingsError, TaskError
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.pipeline.job import OWN_FILES, PYTHON, Grading, TaskSource
from skillsv.sandbox.covered_files import find_change
from skillsv.sandbox.user_function import GivenFunction, load_code
from skillsv.tasks import as_text, make_verifier, object_id, tasks_folder, tasks_from_objects
from skillsv.tasks.jsonl import KEYS
from skillsv.tasks.verifiers.external import PythonVerifier, inspect_score
from skillsv.tasks.verifiers.scorer import Scorer, check_score

FUNCTION = "function:"
"""Verifiers of tasks that a function grades begin so; the digest of the function follows."""

TASK_FIELDS = tuple(name for name in KEYS if name not in {"id", "verifier"})
"""The attributes that are read from a caller's own objects."""

EVALUATED = "evaluate"
"""The name of the score that an evaluating function gives."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a caller passes besides the skill: tasks and agent, or examples and an evaluating function.

    `version` is a text that stands for everything that a function depends on and that its source does not show.
    """

    tasks: str | os.PathLike[str] | Iterable[object] | None = None
    agent: str | Agent | Callable[..., object] | None = None
    verifier: str | Verifier | Callable[..., object] | None = None
    evaluate: Callable[..., object] | None = None
    examples: Iterable[object] | None = None
    version: str = ""

    def __post_init__(self) -> None:
        for name in ("tasks", "examples"):
            if isinstance(getattr(self, name), Iterator):  # `confirm` reads them again
                object.__setattr__(self, name, list(getattr(self, name)))
        if (self.evaluate is None) != (self.examples is None):
            raise SettingsError("evaluate and examples belong together.", hint="Pass both of them.")
        if self.evaluate is not None and (self.tasks, self.agent, self.verifier) != (None, None, None):
            raise SettingsError(
                "evaluate and examples stand for tasks, agent and verifier.", hint="Pass evaluate and examples alone."
            )

    @property
    def path(self) -> Path | None:
        """The path of the tasks; None where they are objects."""
        return Path(self.tasks) if isinstance(self.tasks, str | os.PathLike) else None

    @property
    def agent_spec(self) -> str | None:
        """The agent as a run records it."""
        if self.evaluate is not None:
            return f"{FUNCTION}{_name(self.evaluate)}"
        if self.agent is None or isinstance(self.agent, str):
            return self.agent
        return f"{FUNCTION}{_name(self.agent)}"

    @property
    def has_own_agent(self) -> bool:
        """Whether the agent is a function or an object of the caller, so that the caller wrote the code that spends."""
        return self.evaluate is not None or not (self.agent is None or isinstance(self.agent, str))

    @property
    def verifier_spec(self) -> str | None:
        """The verifier as a setting, where it is one."""
        return self.verifier if isinstance(self.verifier, str) else None

    @property
    def given_as_objects(self) -> bool:
        """Whether a later command cannot make tasks, agent and verifier from what the run records."""
        named = (self.tasks is None or self.path is not None) and (self.agent is None or isinstance(self.agent, str))
        return not named or self.evaluate is not None or not (self.verifier is None or isinstance(self.verifier, str))

    def source(self) -> TaskSource:
        """The task source of the pipeline."""
        if not self.given_as_objects:
            return OWN_FILES
        parts = _evaluated_parts(self) if self.evaluate is not None else _given_parts(self)
        return TaskSource(
            name=PYTHON, load_tasks=parts.load_tasks, make_agent=parts.make_agent, make_verifier=parts.make_verifier
        )


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """Tasks, agent and verifier of one source. None: what the run records names them.

    `scorers` are the functions that grade, by the verifier of a task. `default` is the verifier of tasks without one.
    """

    objects: Sequence[object] | None
    agent: Callable[[AgentOptions], Agent] | None
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    verifier: Verifier | None = None
    default: str = ""

    def load_tasks(self, path: Path, grading: Grading) -> Sequence[Task]:
        """The tasks, with their verifiers and digests."""
        default = self.default or grading.verifier
        if self.objects is not None:
            return tasks_from_objects(self.objects, verifier=default, judge=grading.judge)
        return OWN_FILES.load_tasks(path, replace(grading, verifier=default))

    def make_agent(self, spec: str, options: AgentOptions) -> Agent:
        """The agent that the caller passed, or the one that the specification names."""
        if self.agent is None:
            return make_agent(spec, options)
        refuse_sandbox(options, "functions")
        return self.agent(options)

    def make_verifier(self, path: Path, tasks: Sequence[Task], grading: Grading) -> Verifier:
        """The verifier of all tasks: the caller's functions, and verifiers that tasks name."""
        named = [task for task in tasks if task.verifier not in self.scorers]
        other = self.verifier
        if other is None:
            folder = Path.cwd() if self.objects is not None else tasks_folder(path)
            other = make_verifier(
                named,
                folder=folder,
                default=grading.verifier,
                judge=grading.make_judge,
                sandbox=grading.sandbox,
                sandbox_commands=grading.sandbox_commands,
                container=grading.container,
                network=grading.network,
            )
        return _GivenVerifier(self.scorers, other)


@dataclass(frozen=True, slots=True)
class _GivenVerifier:
    """Scores tasks by functions that the caller passed, and all others by their own verifiers."""

    scorers: Mapping[str, Scorer]
    others: Verifier

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        scorer = self.scorers.get(task.verifier)
        if scorer is None:
            return await self.others.score(task, outcome, workspace)
        name = task.verifier.removeprefix(FUNCTION).partition("@")[0]
        return check_score(await scorer(task, outcome, workspace), f"The verifier {name}")

    def load(self) -> None:
        load_code(*self.scorers.values(), self.others)

    def find_change(self) -> Path | None:
        return find_change(self.others)


def _given_parts(inputs: Inputs) -> _Parts:
    """The parts of a source whose tasks, agent or verifier are objects."""
    scorers: dict[str, Scorer] = {}
    default, other = "", None
    if isinstance(inputs.verifier, Verifier):
        other, default = inputs.verifier, f"{FUNCTION}{_name(inputs.verifier)}@{inputs.version}"
    elif callable(inputs.verifier):
        given = GivenFunction(inputs.verifier, version=inputs.version)
        default = _spec_of(given)
        scorers[default] = PythonVerifier(given)
    objects = None
    if inputs.tasks is not None and inputs.path is None:
        found = list(_require_list(inputs.tasks))
        objects = [_with_own_verifier(index, item, inputs.version) for index, item in enumerate(found)]
        scorers |= _own_scorers(found, inputs.version)
    return _Parts(objects=objects, agent=_agent_maker(inputs), scorers=scorers, verifier=other, default=default)


def _evaluated_parts(inputs: Inputs) -> _Parts:
    """The parts of a source with one function for everything."""
    assert inputs.evaluate is not None
    assert inputs.examples is not None
    function = GivenFunction(inputs.evaluate, version=inputs.version)
    examples = {object_id(index, item): item for index, item in enumerate(_require_list(inputs.examples))}
    spec = _spec_of(function)
    return _Parts(
        objects=[{"id": name, "input": as_text(example)} for name, example in examples.items()],
        agent=lambda options: EvaluateAgent(function, examples, EVALUATED, options),
        scorers={spec: inspect_score(EVALUATED)},
        default=spec,
    )


def _agent_maker(inputs: Inputs) -> Callable[[AgentOptions], Agent] | None:
    agent = inputs.agent
    if agent is None or isinstance(agent, str):
        return None
    if isinstance(agent, Agent):
        return lambda _options: agent
    if not callable(agent):
        raise SettingsError(
            f"an agent cannot be a {type(agent).__name__}.",
            hint="Pass a text such as 'model:openai:NAME', a function (skill, task) -> str, or an object with "
            "`fingerprint` and `run`.",
        )
    function = GivenFunction(agent, version=inputs.version)
    return lambda options: PythonAgent(function, options)


def _with_own_verifier(index: int, item: object, version: str) -> object:
    """An object that scores its own answers as a dict of the fields of a task, which names that verifier."""
    if not _scores_itself(item):
        return item
    fields = {name: getattr(item, name) for name in TASK_FIELDS if getattr(item, name, None) is not None}
    return {**fields, "id": object_id(index, item), "verifier": _spec_of(GivenFunction(type(item), version=version))}


def _own_scorers(objects: Sequence[object], version: str) -> dict[str, Scorer]:
    """One scorer for each class of objects that score their own answers by a method `score(answer)`."""
    by_id = {object_id(index, item): item for index, item in enumerate(objects)}

    def score(task: Any, answer: str) -> object:
        return by_id[task.id].score(answer)  # type: ignore[attr-defined]

    kinds = {type(item) for item in objects if _scores_itself(item)}
    return {_spec_of(GivenFunction(kind, version=version)): PythonVerifier(GivenFunction(score)) for kind in kinds}


def _scores_itself(item: object) -> bool:
    return not isinstance(item, Task | Mapping) and callable(getattr(item, "score", None))


def _spec_of(function: GivenFunction) -> str:
    """The verifier that a task names where a function grades it: another function makes another task."""
    return f"{FUNCTION}{function.name}@{function.digest[:16]}"


def _require_list(value: object) -> Iterable[object]:
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise TaskError(
            f"a {type(value).__name__} holds no tasks.", hint="Pass a path, or a list of tasks, dicts or objects."
        )
    return value


def _name(value: object) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))
