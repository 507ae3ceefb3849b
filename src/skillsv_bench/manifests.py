"""The released manifests: which tasks of a benchmark belong to train, val and test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import TaskError
from skillsv_bench.benchmark import ALL_TASKS, PaperSetting, Source

SPLITS = ("train", "val", "test")
"""The splits that manifests divide a benchmark into."""

FILE = "items.json"
"""The file name of the manifest of one split."""

Items = tuple[Mapping[str, Any], ...]
"""The entries of a manifest, one for each task."""

NameOf = Callable[[Mapping[str, Any]], str]
"""Gives the name of the task that a manifest entry describes."""


def _id_of(item: Mapping[str, Any]) -> str:
    return str(item.get("id"))


def read_items(source: Source, folder: str) -> Items | None:
    """Read the manifest of a split; None for the split `all`, or if there is no manifest.

    `folder` is the name of the benchmark's manifests, such as `officeqa_id_split`.
    """
    if source.split == ALL_TASKS:
        return None
    if source.split not in SPLITS:
        raise TaskError(
            f"there is no split '{source.split}'.", hint=f"The splits are {', '.join(SPLITS)}, {ALL_TASKS}."
        )
    place = _find(source, folder)
    return None if place is None else _read(place / source.split / FILE)


def has_split(source: Source, folder: str, split: str) -> bool:
    """Whether there is a manifest of this split."""
    place = _find(source, folder)
    return place is not None and (place / split / FILE).is_file()


def _find(source: Source, folder: str) -> Path | None:
    if source.splits is not None:
        places = [source.splits / folder, source.splits]
    else:
        near = (source.data, source.data.absolute().parent)
        places = [base / part for base in near for part in (f"splits/{folder}", folder)]
    manifest_folder = next((place for place in places if _is_manifest(place)), None)
    if manifest_folder is None and source.splits is not None:
        raise TaskError(
            "there are no manifests here.", where=str(source.splits), hint=f"Expected {folder}/test/{FILE} below it."
        )
    return manifest_folder


def _is_manifest(place: Path) -> bool:
    return any((place / split / FILE).is_file() for split in SPLITS)


def _read(file: Path) -> Items:
    try:
        items = msgspec.json.decode(file.read_bytes(), type=list[dict[str, Any]])
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(f"the manifest cannot be read: {error}.", where=str(file)) from error
    return tuple(items)


def refuse_partial(
    source: Source, folder: str, present: Collection[str], *, hint: str, name_of: NameOf = _id_of
) -> None:
    """Raise TaskError if the data folder holds only a part of a split that a manifest lists."""
    place = _find(source, folder) if source.split == ALL_TASKS else None
    for split in SPLITS if place is not None else ():
        file = place / split / FILE if place is not None else Path()
        names = [name_of(item) for item in _read(file)] if file.is_file() else []
        if any(name in present for name in names):
            refuse_missing(replace(source, split=split), names, present, hint=hint)


def refuse_missing(source: Source, wanted: Sequence[str], present: Collection[str], *, hint: str) -> None:
    """Raise TaskError if the data lack tasks of the split, with their number and the first names."""
    missing = [name for name in wanted if name not in present]
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise TaskError(
            f"{len(missing)} of the {len(wanted)} tasks of the split {source.split} are missing ({some}).",
            where=str(source.data),
            hint=hint,
        )


def manifest_notes(source: Source, items: Items | None, paper: PaperSetting) -> tuple[str, ...]:
    """Describe how this split differs from the paper's."""
    if source.split == ALL_TASKS:
        return ()
    if items is None:
        return (f"There is no manifest beside the data: all tasks found are taken for the split {source.split}.",)
    in_paper = paper.tasks.get(source.split)
    if in_paper is None or in_paper == len(items):
        return ()
    return (f"The released manifest of the split {source.split} has {len(items)} tasks; the paper says {in_paper}.",)
