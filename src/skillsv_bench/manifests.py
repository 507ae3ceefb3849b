"""The released manifests: which tasks of a benchmark belong to train, val and test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import TaskError
from skillsv_bench.benchmark import WHOLE, Paper, Source

SPLITS = ("train", "val", "test")
FILE = "items.json"

Items = tuple[Mapping[str, Any], ...]
NameOf = Callable[[Mapping[str, Any]], str]


def _id_of(item: Mapping[str, Any]) -> str:
    return str(item.get("id"))


def read_items(source: Source, folder: str) -> Items | None:
    """The manifest's items of a split; None for everything, or where there is no manifest to be found.

    `folder` is the name of the benchmark's manifests, such as `officeqa_id_split`.
    """
    if source.split == WHOLE:
        return None
    if source.split not in SPLITS:
        raise TaskError(f"there is no split '{source.split}'.", hint=f"The splits are {', '.join(SPLITS)}, {WHOLE}.")
    place = _find(source, folder)
    return None if place is None else _read(place / source.split / FILE)


def _find(source: Source, folder: str) -> Path | None:
    if source.splits is not None:
        places = [source.splits / folder, source.splits]
    else:
        near = (source.data, source.data.absolute().parent)
        places = [base / part for base in near for part in (f"splits/{folder}", folder)]
    found = next((place for place in places if _is_manifest(place)), None)
    if found is None and source.splits is not None:
        raise TaskError(
            "there are no manifests here.", where=str(source.splits), hint=f"Expected {folder}/test/{FILE} below it."
        )
    return found


def _is_manifest(place: Path) -> bool:
    return any((place / split / FILE).is_file() for split in SPLITS)


def _read(file: Path) -> Items:
    try:
        items = msgspec.json.decode(file.read_bytes(), type=list[dict[str, Any]])
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(f"the manifest cannot be read: {error}.", where=str(file)) from error
    return tuple(items)


def refuse_partial(source: Source, folder: str, there: Collection[str], *, hint: str, name_of: NameOf = _id_of) -> None:
    """Of everything in a data folder, each split must be there as a whole or not at all, as far as manifests tell."""
    place = _find(source, folder) if source.split == WHOLE else None
    for split in SPLITS if place is not None else ():
        file = place / split / FILE if place is not None else Path()
        names = [name_of(item) for item in _read(file)] if file.is_file() else []
        if any(name in there for name in names):
            refuse_missing(replace(source, split=split), names, there, hint=hint)


def refuse_missing(source: Source, wanted: Sequence[str], there: Collection[str], *, hint: str) -> None:
    """One sentence with how many tasks of a split the data lack, and which."""
    missing = [name for name in wanted if name not in there]
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise TaskError(
            f"{len(missing)} of the {len(wanted)} tasks of the split {source.split} are missing ({some}).",
            where=str(source.data),
            hint=hint,
        )


def manifest_notes(source: Source, items: Items | None, paper: Paper) -> tuple[str, ...]:
    """What a reader of the paper should know about this split."""
    if source.split == WHOLE:
        return ()
    if items is None:
        return (f"There is no manifest beside the data: all tasks found are taken for the split {source.split}.",)
    told = paper.tasks.get(source.split)
    if told is None or told == len(items):
        return ()
    return (f"The released manifest of the split {source.split} has {len(items)} tasks; the paper says {told}.",)
