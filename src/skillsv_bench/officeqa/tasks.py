"""Reads the table of questions and its documents as tasks."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillsv.errors import TaskError
from skillsv.model.coalition import Operator
from skillsv.model.task import Task
from skillsv_bench.benchmark import LoadedTasks, PaperSetting, RejectedTask, Source, add_digest
from skillsv_bench.manifests import manifest_notes, read_items, refuse_missing, refuse_partial
from skillsv_bench.officeqa.prompt import user_message

_BETWEEN = re.compile(r"[\r\n;]+")


def split_names(field: str) -> tuple[str, ...]:
    """The entries of a CSV field that holds several, one a line (or with semicolons between them)."""
    return tuple(dict.fromkeys(part.strip() for part in _BETWEEN.split(field) if part.strip()))


def is_plain_name(name: str) -> bool:
    """Say whether a text is a file name without folders."""
    return name not in {".", ".."} and not any(sign in name for sign in ("/", "\\", "\0"))


def text_files(data: Path) -> Mapping[str, Path]:
    """All text files below the data folder by name. Links that lead out of it are left aside.

    Where a name is there twice, the file in upstream's folder `transformed` goes first, then the one nearer to the top.
    """
    root = data.resolve()
    found: dict[str, list[Path]] = {}
    for folder, _, files in os.walk(data):
        for name in files:
            path = Path(folder, name)
            if name.endswith(".txt") and path.is_file() and path.resolve().is_relative_to(root):
                found.setdefault(name, []).append(path)
    return {name: min(paths, key=_preference) for name, paths in found.items()}


def _preference(path: Path) -> tuple[bool, int, str]:
    return path.parent.name != "transformed", len(path.parts), str(path)


def refuse_missing_documents(wanted: Sequence[str], there: Mapping[str, Path], data: Path, hint: str) -> None:
    """Raise TaskError if documents are missing, with their number and the first names."""
    missing = sorted({name for name in wanted if name not in there})
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise TaskError(
            f"{len(missing)} of the {len(set(wanted))} documents are missing ({some}).", where=str(data), hint=hint
        )


PAPER = PaperSetting(
    tasks={"train": 50, "val": 24, "test": 172},
    panel_a=86,
    panel_b=86,
    turns=24,
    operators=(Operator.DELETE, Operator.PAD),
)
"""The paper's setting; only here the paper runs both operators."""

MANIFESTS = "officeqa_id_split"
"""The folder of the released manifests."""

VERIFIER_VERSION = "officeqa/1"
"""Raise the version when the rules of scoring or the form of tasks change."""

TABLES = ("officeqa_full.csv", "officeqa_pro.csv")
"""Upstream's names of the table of questions, the preferred one first."""

COLUMNS = ("uid", "question", "answer", "source_docs", "source_files")
"""The columns that the table must have; `difficulty` is the stratum if the table has it."""

DATA_ORIGIN = (
    "officeqa_full.csv and treasury_bulletins_parsed/transformed/*.txt come from the gated dataset databricks/officeqa "
    "on Hugging Face (download with --local-dir: links out of the folder are not followed); the manifests are "
    "data/officeqa_id_split of github.com/microsoft/SkillOpt."
)

Row = Mapping[str, str]


def load(source: Source) -> LoadedTasks:
    """The tasks of a split in the manifest's order, or all there are."""
    table = _table(source.data)
    rows = _read(table)
    items = read_items(source, MANIFESTS)
    wanted = list(rows) if items is None else [str(item.get("id")) for item in items]
    refuse_missing(source, wanted, rows, hint=DATA_ORIGIN)
    refuse_partial(source, MANIFESTS, rows, hint=DATA_ORIGIN)
    chosen = [rows[name] for name in wanted]
    rejected = [RejectedTask(id=row["uid"], why=why) for row in chosen if (why := _explain_unusable(row))]
    usable = [row for row in chosen if not _explain_unusable(row)]
    if not usable:
        raise TaskError(
            f"none of the {len(chosen)} questions has a question, an answer and documents.",
            where=str(table),
            hint=DATA_ORIGIN,
        )
    files = _documents(usable, source.data, table)
    return LoadedTasks(
        tasks=tuple(make_task(row, files) for row in usable),
        rejected=tuple(rejected),
        notes=manifest_notes(source, items, PAPER),
    )


def _table(data: Path) -> Path:
    """The CSV file of questions: one of upstream's names, else the only one there is."""
    if not data.is_dir():
        raise TaskError("there is no such folder.", where=str(data), hint=DATA_ORIGIN)
    there = sorted(file for file in data.glob("*.csv") if file.resolve().is_relative_to(data.resolve()))
    for name in TABLES:
        if data / name in there:
            return data / name
    if len(there) != 1:
        what = "is no CSV file" if not there else f"are {len(there)} CSV files and none is called {TABLES[0]}"
        raise TaskError(f"there {what} here.", where=str(data), hint=DATA_ORIGIN)
    return there[0]


def _read(table: Path) -> Mapping[str, Row]:
    """The rows by uid."""
    try:
        with table.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, restval="", strict=True)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise TaskError(
                    f"the table has no column {' and no column '.join(missing)}.", where=str(table), hint=DATA_ORIGIN
                )
            lines = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TaskError(f"the questions cannot be read: {error}.", where=str(table), hint=DATA_ORIGIN) from error
    rows: dict[str, Row] = {}
    for line in lines:
        row = {name: text.strip() for name, text in line.items() if isinstance(text, str)}
        if row["uid"] in rows:
            raise TaskError(f"the question {row['uid']} is there twice.", where=str(table), hint="Remove one of them.")
        rows[row["uid"]] = row
    return rows


def _explain_unusable(row: Row) -> str:
    """Why a row cannot be a task; empty where it can."""
    empty = [name for name in ("uid", "question", "answer", "source_files") if not row[name]]
    return f"it has no {' and no '.join(empty)}." if empty else ""


def _documents(rows: Sequence[Row], data: Path, table: Path) -> Mapping[str, Path]:
    named = [(row["uid"], name) for row in rows for name in split_names(row["source_files"])]
    for uid, name in named:
        if not is_plain_name(name):
            raise TaskError(
                f"the question {uid} names the document {name!r}, which is no plain file name.",
                where=str(table),
                hint="Documents lie below the data folder and are named without their folders.",
            )
    files = text_files(data)
    refuse_missing_documents([name for _, name in named], files, data, DATA_ORIGIN)
    return files


def make_task(row: Row, documents: Mapping[str, Path]) -> Task:
    """One question with its own documents; the target is the answer as upstream wrote it."""
    names, hints = split_names(row["source_files"]), split_names(row["source_docs"])
    task = Task(
        id=row["uid"],
        input=user_message(row["question"], names, hints),
        target=row["answer"],
        stratum=row.get("difficulty") or row.get("category", ""),
        files={name: documents[name] for name in names},
        metadata={"question": row["question"], "source_files": list(names), "source_docs": list(hints)},
    )
    return add_digest(task, verifier=VERIFIER_VERSION)
