"""Reads tasks from the dataset of an Inspect task: `--tasks inspect:FILE.py@task`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.inspect_file import load_inspect_task
from skillsv.tasks.files import TaskDigester

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample

_PREFIX = "inspect:"
"""The beginning of a specification that is given instead of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectDataset:
    """A specification (without `inspect:`), and the folder to which it is relative."""

    folder: Path
    spec: str

    @property
    def file(self) -> Path:
        """The Python file that the specification names."""
        return (self.folder / self.spec.partition("?")[0].rpartition("@")[0]).expanduser()


def parse_inspect_spec(path: Path) -> InspectDataset | None:
    """The dataset if the path is `inspect:...` instead of a file, else None. The path may have been made absolute."""
    before, prefix, spec = str(path).partition(_PREFIX)
    if not prefix or (before and not before.endswith("/")) or path.exists():
        return None
    return InspectDataset(folder=Path(before).absolute(), spec=spec)


def read_inspect(dataset: InspectDataset, verifier: str | None, digester: TaskDigester) -> Iterator[Task]:
    """One task per sample. The scorer of the Inspect task scores it unless another verifier is named."""
    loaded = load_inspect_task(dataset.spec, dataset.folder)
    if loaded.task.sample_source is not None:
        raise TaskError(
            "This task of Inspect makes its samples while it runs.",
            where=f"{loaded.file.name}@{loaded.name}",
            hint="Give tasks of your own, for instance --tasks tasks.jsonl.",
        )
    for number, sample in enumerate(loaded.task.dataset, start=1):
        yield _task(sample, number, verifier, digester)


def _task(sample: Sample, number: int, verifier: str | None, digester: TaskDigester) -> Task:
    """A sample as a task. Fields that only Inspect uses (choices, files, setup, messages) become metadata."""
    inspect_fields: dict[str, Any] = sample.model_dump(
        mode="json", exclude_none=True, include={"choices", "files", "setup", "sandbox"}
    )
    plain = sample.model_dump(mode="json", include={"input", "metadata"})
    if not isinstance(sample.input, str):
        inspect_fields["messages"] = [_without_id(message) for message in plain["input"]]
    metadata = plain["metadata"] or {}
    task = Task(
        id=str(number if sample.id is None else sample.id),
        input=_input_text(sample),
        target=sample.target or None,
        stratum=str(metadata.get("stratum", "")),
        verifier=verifier or "inspect",
        metadata={**metadata, "inspect": inspect_fields} if inspect_fields else metadata,
    )
    return digester(task, [Path(value) for value in _file_names(sample)])


def _without_id(message: dict[str, Any]) -> dict[str, Any]:
    """A message without its id: Inspect makes a new one each time, which would change the digest of the task."""
    return {name: value for name, value in message.items() if name != "id"}


def _input_text(sample: Sample) -> str:
    """The input of a sample as text."""
    if isinstance(sample.input, str):
        return sample.input
    return "\n\n".join(f"{message.role}: {message.text}" for message in sample.input)


def _file_names(sample: Sample) -> list[str]:
    """The fields `files` and `setup` of a sample as far as they name files: they may also be the contents."""
    values = [*(sample.files or {}).values(), sample.setup or ""]
    return [value for value in values if os.path.isfile(value)]  # noqa: PTH113 - Path.is_file raises for a text that is too long
