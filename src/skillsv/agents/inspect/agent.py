"""A task of Inspect as the agent: each rollout is a sample of one of its evaluations."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from inspect_ai import task_with
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import Model, get_model

from skillsv.agents.inspect.batches import Ticket, batches
from skillsv.agents.inspect.evaluate import Plan, seconds_of
from skillsv.agents.inspect.outcome import outcome_of
from skillsv.agents.inspect.sample import sample_of
from skillsv.agents.options import AgentOptions
from skillsv.errors import SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.inspect_file import LoadedTask, in_words, load_inspect_task
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.workspace import place_skill

VERSION = 1
"""Part of the fingerprint: raise it whenever samples are made otherwise."""


class InspectAgent:
    """Lets the task's solver answer; where a task's verifier is `inspect`, its scorer scores, too.

    The model is the one of the specification (`?model=openai/NAME`), else the task's own, else INSPECT_EVAL_MODEL.
    An error in one sample is a failure of its rollout alone.
    """

    def __init__(self, spec: str, options: AgentOptions) -> None:
        self._options = options
        self._loaded = load_inspect_task(spec, options.folder)
        model = _model(self._loaded)
        task = task_with(self._loaded.task, model=model)
        self._plan = Plan(task=task, seconds=seconds_of(options.timeout), logs=_logs(options))
        self._fingerprint = _fingerprint(self._loaded, model, options)

    @property
    def fingerprint(self) -> str:
        """Covers the file and what it imports from beside it, the arguments, the model and the version of Inspect."""
        return self._fingerprint

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task in the next evaluation, together with all that wait."""
        scored = task.verifier.partition(":")[0] == "inspect"
        if scored and self._plan.task.scorer is None:
            raise SettingsError(
                f"the verifier of task {task.id} is `inspect`, and the task of Inspect has no scorer.",
                where=f"{self._loaded.file.name}@{self._loaded.name}",
                hint="Give it one, or score with another verifier (--verifier contains).",
            )
        skill = None if skill is None or skill.empty else skill
        if self._options.show_target:
            task = replace(task, metadata=task.all_metadata)
        elif not scored:  # only a scorer of Inspect needs the target in the sample
            task = replace(task, target=None)
        folder = None if skill is None else place_skill(skill, workspace, self._options.skill_dir)
        sample = sample_of(task, skill, folder=folder, workspace=workspace, replicate=replicate)
        finished = await batches().ask(Ticket(self._plan, sample, scored))
        return outcome_of(finished, self._plan, output_bytes=self._options.output_bytes)


def _logs(options: AgentOptions) -> Path | None:
    return None if options.inspect_logs is None else options.folder / options.inspect_logs


def _model(loaded: LoadedTask) -> Model:
    """The model, made once before anything is spent, so that a missing key or a wrong name is found now."""
    if loaded.model is None and loaded.task.model is not None:
        return loaded.task.model
    name = loaded.model or os.environ.get("INSPECT_EVAL_MODEL")
    if not name:
        raise SettingsError(
            "no model is named for the task of Inspect.",
            where=f"{loaded.file.name}@{loaded.name}",
            hint=f"Write inspect:{loaded.file.name}@{loaded.name}?model=PROVIDER/NAME, or set INSPECT_EVAL_MODEL.",
        )
    try:
        return get_model(name)
    except (PrerequisiteError, ValueError, ImportError) as error:
        raise SettingsError(f"the model `{name}` cannot be used: {redact(in_words(error))}.") from None


def _fingerprint(loaded: LoadedTask, model: Model, options: AgentOptions) -> str:
    """Everything that may change an answer. Arguments of a model that are no plain values are code, and in the file."""
    plain: dict[str, Any] = {
        name: value for name, value in model.model_args.items() if isinstance(value, (str, int, float, bool))
    }
    roles = {name: str(role) for name, role in (loaded.task.model_roles or {}).items()}
    told = [
        VERSION,
        version("inspect-ai"),
        loaded.digest,
        loaded.arguments,
        [str(model), model.api.base_url, model.config.model_dump(mode="json", exclude_none=True), plain],
        loaded.task.config.model_dump(mode="json", exclude_none=True),
        roles,
        options.skill_dir,
    ]
    digest = hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()
    return f"inspect/1:{loaded.name}:{model}:{digest}"
