"""The Inspect agent: every rollout is one sample of an evaluation of an Inspect task."""

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

from skillsv.agents.fingerprints import AgentInputs
from skillsv.agents.inspect.batches import PendingSample, shared_queue
from skillsv.agents.inspect.evaluate import EvaluationSettings, sample_seconds
from skillsv.agents.inspect.outcome import read_outcome
from skillsv.agents.inspect.sample import make_sample
from skillsv.agents.options import AgentOptions
from skillsv.errors import SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv.sandbox.inspect_file import LoadedInspectTask, describe_inspect_error, load_inspect_task
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.workspace import place_skill

VERSION = 1
"""Part of the fingerprint: raise it when samples are made in another way."""


class InspectAgent:
    """The solver of the Inspect task answers. Its scorer also scores, for tasks whose verifier is `inspect`.

    The model is that of the specification (`?model=openai/NAME`), else that of the Inspect task, else
    INSPECT_EVAL_MODEL. An error in one sample is a failure of its own rollout only.
    """

    def __init__(self, spec: str, options: AgentOptions) -> None:
        self._options = options
        self._loaded = load_inspect_task(spec, options.folder)
        model = _find_model(self._loaded)
        task = task_with(self._loaded.task, model=model)
        logs = None if options.inspect_logs is None else options.folder / options.inspect_logs
        self._settings = EvaluationSettings(task=task, seconds=sample_seconds(options.timeout), logs=logs)
        self._inputs = AgentInputs(options, lambda: self._loaded.watch)
        declared = self._inputs.digest_code([self._loaded.name], self._loaded.file.name)
        digest = self._loaded.digest if options.agent_version is None else declared
        self._fingerprint = self._inputs.extend(_make_fingerprint(self._loaded, model, options, digest))

    @property
    def fingerprint(self) -> str:
        """Covers the file, the files beside it that it imports, the arguments, the model and Inspect's version."""
        return self._fingerprint

    def find_change(self) -> Path | None:
        """A covered file that has changed since the fingerprint was made."""
        return self._inputs.find_change()

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task in the next evaluation, together with all other pending samples."""
        scored = task.verifier.partition(":")[0] == "inspect"
        if scored and self._settings.task.scorer is None:
            raise SettingsError(
                f"the verifier of task {task.id} is `inspect`, and the Inspect task has no scorer.",
                where=f"{self._loaded.file.name}@{self._loaded.name}",
                hint="Give it one, or score with another verifier (--verifier contains).",
            )
        skill = None if skill is None or skill.empty else skill
        if self._options.show_target:
            task = replace(task, metadata=task.all_metadata)
        elif not scored:  # only Inspect's scorer needs the target in the sample
            task = replace(task, target=None)
        folder = None if skill is None else place_skill(skill, workspace, self._options.skill_dir)
        sample = make_sample(task, skill, folder=folder, workspace=workspace, replicate=replicate)
        finished = await shared_queue().run(PendingSample(self._settings, sample, scored))
        return read_outcome(finished, self._settings, output_bytes=self._options.output_bytes)


def _find_model(loaded: LoadedInspectTask) -> Model:
    """The model. It is made before the first rollout, so that a missing key or a wrong name costs nothing."""
    if loaded.model is None and loaded.task.model is not None:
        return loaded.task.model
    name = loaded.model or os.environ.get("INSPECT_EVAL_MODEL")
    if not name:
        raise SettingsError(
            "no model is named for the Inspect task.",
            where=f"{loaded.file.name}@{loaded.name}",
            hint=f"Write inspect:{loaded.file.name}@{loaded.name}?model=PROVIDER/NAME, or set INSPECT_EVAL_MODEL.",
        )
    try:
        return get_model(name)
    except (PrerequisiteError, ValueError, ImportError) as error:
        raise SettingsError(f"the model `{name}` cannot be used: {redact(describe_inspect_error(error))}.") from None


def _make_fingerprint(loaded: LoadedInspectTask, model: Model, options: AgentOptions, digest_of_files: str) -> str:
    """A digest of all that may change an answer. Model arguments that are not plain values are code in the file."""
    plain: dict[str, Any] = {
        name: value for name, value in model.model_args.items() if isinstance(value, (str, int, float, bool))
    }
    roles = {name: str(role) for name, role in (loaded.task.model_roles or {}).items()}
    parts = [
        VERSION,
        version("inspect-ai"),
        digest_of_files,
        loaded.arguments,
        [str(model), model.api.base_url, model.config.model_dump(mode="json", exclude_none=True), plain],
        loaded.task.config.model_dump(mode="json", exclude_none=True),
        roles,
        options.skill_dir,
    ]
    digest = hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
    return f"inspect/1:{loaded.name}:{model}:{digest}"
