"""Tasks in upstream's layout: `dataset.json`, and two workbooks for each task in `spreadsheet/ID/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv_bench.benchmark import LoadedTasks, PaperSetting, RejectedTask, Source, add_digest
from skillsv_bench.manifests import manifest_notes, read_items
from skillsv_bench.spreadsheetbench.package import WorkbookError
from skillsv_bench.spreadsheetbench.positions import UnscoreableTask, read_position
from skillsv_bench.spreadsheetbench.prompt import INPUT, preview, user_message
from skillsv_bench.spreadsheetbench.workbook import Workbook

PAPER = PaperSetting(tasks={"train": 80, "val": 40, "test": 280}, panel_a=80, panel_b=140, turns=30)
"""The paper's setting."""

MANIFESTS = "spreadsheetbench_id_split"
"""The folder of the released manifests."""

VERIFIER_VERSION = "spreadsheetbench/1"
"""Raise the version when the rules of scoring or the form of tasks change."""

DATASET = "dataset.json"
"""The file of all tasks."""

FOLDER = "spreadsheet"
"""The folder that holds a folder of workbooks for each task."""

DATA_ORIGIN = (
    "The tasks are data/spreadsheetbench_912_v0.1.tar.gz or data/spreadsheetbench_verified_400.tar.gz of "
    "github.com/RUCKBReasoning/SpreadsheetBench, unpacked; the manifests are data/spreadsheetbench_id_split of "
    "github.com/microsoft/SkillOpt."
)

_NAMES = (
    ("1_{id}_input.xlsx", "1_{id}_answer.xlsx"),
    ("1_{id}_init.xlsx", "1_{id}_golden.xlsx"),
    ("initial.xlsx", "golden.xlsx"),
)
"""What the two workbooks of a task are called, in one release or another."""

_KINDS = {"input": ("input", "init", "initial"), "gold": ("answer", "golden")}
"""The last word in the name of each kind of workbook, whatever number stands before it."""

_ID = re.compile(r"\w[\w.-]*")


class Item(msgspec.Struct):
    """A task as upstream writes it."""

    id: int | str
    instruction: Annotated[str, Meta(pattern=r"\S")]
    instruction_type: str
    answer_position: Annotated[str, Meta(pattern=r"\S")]
    answer_sheet: str | None = None


def load(source: Source) -> LoadedTasks:
    """The tasks of a split in the manifest's order, or all there are; those that cannot be scored are named."""
    dataset = _read(source.data)
    items = read_items(source, MANIFESTS)
    wanted = list(dataset) if items is None else [str(item.get("id")) for item in items]
    _refuse_missing([name for name in wanted if name not in dataset], len(wanted), f"{DATASET} has no", source.data)
    missing = [name for name in wanted if not (source.data / FOLDER / name).is_dir()]
    _refuse_missing(missing, len(wanted), "there are no workbooks of", source.data)
    found = [_task_or_why(dataset[name], source.data, name) for name in wanted]
    tasks = tuple(task for task in found if isinstance(task, Task))
    rejected = tuple(task for task in found if isinstance(task, RejectedTask))
    if not tasks:
        raise TaskError(
            f"none of the {len(wanted)} tasks can be scored, first {rejected[0].id}: {rejected[0].why}",
            where=str(source.data),
            hint=DATA_ORIGIN,
        )
    return LoadedTasks(
        tasks=tasks, rejected=rejected, notes=(*manifest_notes(source, items, PAPER), *_misnamed_notes(tasks))
    )


def _misnamed_notes(tasks: Sequence[Task]) -> Iterator[str]:
    """One sentence about each task whose workbooks have names that no release gives them."""
    for task in tasks:
        names = (task.files[INPUT].name, Path(str(task.target)).name)
        if names not in _expected_names(task.id):
            yield f"Task {task.id} uses the only two workbooks of its folder, {names[0]} and {names[1]}."


def _read(data: Path) -> Mapping[str, msgspec.Raw]:
    """The items of the dataset by their id, not yet looked at."""
    if not data.is_dir():
        raise TaskError("there is no such folder.", where=str(data), hint=DATA_ORIGIN)
    file = data / DATASET
    if not file.is_file():
        raise TaskError(f"there is no {DATASET} here.", where=str(data), hint=DATA_ORIGIN)
    try:
        raw = msgspec.json.decode(file.read_bytes(), type=list[msgspec.Raw])
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(f"the tasks cannot be read: {error}.", where=str(file), hint=DATA_ORIGIN) from error
    found: dict[str, msgspec.Raw] = {}
    for number, item in enumerate(raw, start=1):
        name = _id(msgspec.json.decode(item), f"{DATASET}#{number}")
        if name in found:
            raise TaskError(f"the task {name} is there twice.", where=str(file), hint="Remove one of them.")
        found[name] = item
    if not found:
        raise TaskError("there are no tasks in it.", where=str(file), hint=DATA_ORIGIN)
    return found


def _id(item: Any, place: str) -> str:
    name = str(item.get("id")) if isinstance(item, Mapping) else ""
    if not _ID.fullmatch(name) or ".." in name:
        raise TaskError(f"the item has no id that could name a folder: {name!r}.", where=place, hint=DATA_ORIGIN)
    return name


def _refuse_missing(missing: Sequence[str], wanted: int, what: str, data: Path) -> None:
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise TaskError(f"{what} {len(missing)} of the {wanted} tasks ({some}).", where=str(data), hint=DATA_ORIGIN)


def _expected_names(name: str) -> list[tuple[str, str]]:
    """The names of the input and the gold workbook of a task, one pair for each release."""
    return [(before.format(id=name), gold.format(id=name)) for before, gold in _NAMES]


def _workbooks(data: Path, name: str) -> tuple[Path, Path]:
    """The workbook of a task and its gold, by their names or as the only ones of their kinds.

    Links may not lead out of the data folder. Raises UnscoreableTask where a kind is missing or there are several.
    """
    root = data.resolve()
    folder = root / FOLDER / name
    files = [file for file in sorted(folder.glob("*.xlsx")) if file.is_file() and file.resolve().is_relative_to(root)]
    for before, gold in _expected_names(name):
        if folder / before in files and folder / gold in files:
            return folder / before, folder / gold
    before_file, gold_file = (_find_only(files, kind) for kind in _KINDS)
    return before_file, gold_file


def _find_only(files: Sequence[Path], kind: str) -> Path:
    """The only workbook of a kind."""
    found = [file for file in files if file.stem.rpartition("_")[2] in _KINDS[kind]]
    if len(found) != 1:
        names = f" ({', '.join(file.name for file in found)})" if found else ""
        raise UnscoreableTask(f"its folder has {len(found) or 'no'} {kind} workbook{'s' if found else ''}{names}")
    return found[0]


def _task_or_why(raw: msgspec.Raw, data: Path, name: str) -> Task | RejectedTask:
    """The task, or why its answer cannot be compared with anything."""
    try:
        before, gold = _workbooks(data, name)
        return _task(msgspec.json.decode(raw, type=Item), before, gold)
    except UnscoreableTask as error:
        return RejectedTask(id=name, why=f"{error}.")
    except msgspec.ValidationError as error:
        return RejectedTask(id=name, why=f"the item cannot be used: {error}.")


def _task(item: Item, before: Path, gold: Path) -> Task:
    sheet = item.answer_sheet or ""
    with _opened(gold) as workbook:
        read_position(item.answer_position, sheet, workbook.sheets)  # says where it cannot be scored
    with _opened(before) as workbook:
        shown = preview(workbook)
    position = item.answer_position if "!" in item.answer_position or not sheet else f"{sheet}!{item.answer_position}"
    task = Task(
        id=str(item.id),
        input=user_message(item.instruction, item.instruction_type, position, shown),
        target=str(gold),
        stratum=item.instruction_type,
        files={INPUT: before},
        metadata={
            "instruction": item.instruction,
            "instruction_type": item.instruction_type,
            "answer_position": item.answer_position,
            "answer_sheet": sheet,
        },
    )
    return add_digest(task, verifier=VERIFIER_VERSION, gold=[gold])


@contextmanager
def _opened(path: Path) -> Iterator[Workbook]:
    try:
        with path.open("rb") as file:
            yield Workbook(file)
    except (OSError, WorkbookError) as error:
        raise TaskError(f"the workbook cannot be read: {error}.", where=str(path), hint=DATA_ORIGIN) from error
