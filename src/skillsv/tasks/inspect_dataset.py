"""Tasks from the dataset of a task of Inspect: `inspect:FILE.py@task` in the place of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.sandbox.inspect_file import load_inspect_task
from skillsv.tasks.files import Digester

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample

MARK = "inspect:"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectPlace:
    """A dataset that is named by a specification, and the folder that it is relative to."""

    folder: Path
    spec: str

    @property
    def file(self) -> Path:
        """The file that is named."""
        return (self.folder / self.spec.partition("?")[0].rpartition("@")[0]).expanduser()

    @property
    def beside(self) -> Path:
        """The folder in which the file lies."""
        return self.file.parent


def inspect_place(path: Path) -> InspectPlace | None:
    """The specification that stands in the place of a path, if there is one; it may have been made absolute."""
    before, mark, spec = str(path).partition(MARK)
    if not mark or (before and not before.endswith("/")) or path.exists():
        return None
    return InspectPlace(folder=Path(before).absolute(), spec=spec)


def read_inspect(place: InspectPlace, verifier: str | None, digester: Digester) -> Iterator[Task]:
    """One task for each sample, scored by the task's own scorer unless another verifier is named."""
    loaded = load_inspect_task(place.spec, place.folder)
    if loaded.task.sample_source is not None:
        raise TaskError(
            "This task of Inspect makes its samples while it runs.",
            where=f"{loaded.file.name}@{loaded.name}",
            hint="Give tasks of your own, for instance --tasks tasks.jsonl.",
        )
    for number, sample in enumerate(loaded.task.dataset, start=1):
        yield _task(sample, number, verifier, digester)


def _task(sample: Sample, number: int, verifier: str | None, digester: Digester) -> Task:
    """A sample as a task. What only Inspect can use (choices, files, setup, messages) is kept for it as metadata."""
    own: dict[str, Any] = sample.model_dump(
        mode="json", exclude_none=True, include={"choices", "files", "setup", "sandbox"}
    )
    whole = sample.model_dump(mode="json", include={"input", "metadata"})
    if not isinstance(sample.input, str):
        own["messages"] = [_without_id(message) for message in whole["input"]]
    metadata = whole["metadata"] or {}
    task = Task(
        id=str(number if sample.id is None else sample.id),
        input=_words(sample),
        target=sample.target or None,
        stratum=str(metadata.get("stratum", "")),
        verifier=verifier or "inspect",
        metadata={**metadata, "inspect": own} if own else metadata,
    )
    return digester(task, [Path(value) for value in _file_names(sample)])


def _without_id(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the id that Inspect invents anew each time a file is loaded: the task stays the same."""
    return {name: value for name, value in message.items() if name != "id"}


def _words(sample: Sample) -> str:
    """What is asked, as text."""
    if isinstance(sample.input, str):
        return sample.input
    return "\n\n".join(f"{message.role}: {message.text}" for message in sample.input)


def _file_names(sample: Sample) -> list[str]:
    """Which of the sample's files and its setup are names of files; they may also be the contents themselves."""
    values = [*(sample.files or {}).values(), sample.setup or ""]
    return [value for value in values if os.path.isfile(value)]  # noqa: PTH113 - says no to a text that is no name
