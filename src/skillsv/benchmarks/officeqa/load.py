"""The table of questions and its documents, read as tasks."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillsv.benchmarks.benchmark import Loaded, Rejected, Source
from skillsv.benchmarks.finish import finished
from skillsv.benchmarks.manifests import manifest_notes, read_items, refuse_missing, refuse_partial
from skillsv.benchmarks.officeqa.documents import names_in, plain, require, text_files
from skillsv.benchmarks.officeqa.paper import PAPER
from skillsv.benchmarks.officeqa.prompt import user_message
from skillsv.errors import TaskError
from skillsv.model.task import Task

MANIFESTS = "officeqa_id_split"
RULES = "officeqa/1"
TABLES = ("officeqa_full.csv", "officeqa_pro.csv")
COLUMNS = ("uid", "question", "answer", "source_docs", "source_files")
"""What must be there; `difficulty` is the stratum where there is one."""

COMES_FROM = (
    "officeqa_full.csv and treasury_bulletins_parsed/transformed/*.txt come from the gated dataset databricks/officeqa "
    "on Hugging Face (download with --local-dir: links out of the folder are not followed); the manifests are "
    "data/officeqa_id_split of github.com/microsoft/SkillOpt."
)

Row = Mapping[str, str]


def load(source: Source) -> Loaded:
    """The tasks of a split in the manifest's order, or all there are."""
    table = _table(source.data)
    rows = _read(table)
    items = read_items(source, MANIFESTS)
    wanted = list(rows) if items is None else [str(item.get("id")) for item in items]
    refuse_missing(source, wanted, rows, hint=COMES_FROM)
    refuse_partial(source, MANIFESTS, rows, hint=COMES_FROM)
    chosen = [rows[name] for name in wanted]
    rejected = [Rejected(id=row["uid"], why=why) for row in chosen if (why := _unusable(row))]
    usable = [row for row in chosen if not _unusable(row)]
    if not usable:
        raise TaskError(
            f"none of the {len(chosen)} questions has a question, an answer and documents.",
            where=str(table),
            hint=COMES_FROM,
        )
    files = _documents(usable, source.data, table)
    return Loaded(
        tasks=tuple(task_of(row, files) for row in usable),
        rejected=tuple(rejected),
        notes=manifest_notes(source, items, PAPER),
    )


def _table(data: Path) -> Path:
    """The CSV file of questions: one of upstream's names, else the only one there is."""
    if not data.is_dir():
        raise TaskError("there is no such folder.", where=str(data), hint=COMES_FROM)
    there = sorted(file for file in data.glob("*.csv") if file.resolve().is_relative_to(data.resolve()))
    for name in TABLES:
        if data / name in there:
            return data / name
    if len(there) != 1:
        what = "is no CSV file" if not there else f"are {len(there)} CSV files and none is called {TABLES[0]}"
        raise TaskError(f"there {what} here.", where=str(data), hint=COMES_FROM)
    return there[0]


def _read(table: Path) -> Mapping[str, Row]:
    """The rows by uid."""
    try:
        with table.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, restval="", strict=True)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise TaskError(
                    f"the table has no column {' and no column '.join(missing)}.", where=str(table), hint=COMES_FROM
                )
            lines = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as trouble:
        raise TaskError(f"the questions cannot be read: {trouble}.", where=str(table), hint=COMES_FROM) from trouble
    rows: dict[str, Row] = {}
    for line in lines:
        row = {name: text.strip() for name, text in line.items() if isinstance(text, str)}
        if row["uid"] in rows:
            raise TaskError(f"the question {row['uid']} is there twice.", where=str(table), hint="Remove one of them.")
        rows[row["uid"]] = row
    return rows


def _unusable(row: Row) -> str:
    """Why a row cannot be a task; empty where it can."""
    empty = [name for name in ("uid", "question", "answer", "source_files") if not row[name]]
    return f"it has no {' and no '.join(empty)}." if empty else ""


def _documents(rows: Sequence[Row], data: Path, table: Path) -> Mapping[str, Path]:
    named = [(row["uid"], name) for row in rows for name in names_in(row["source_files"])]
    for uid, name in named:
        if not plain(name):
            raise TaskError(
                f"the question {uid} names the document {name!r}, which is no plain file name.",
                where=str(table),
                hint="Documents lie below the data folder and are named without their folders.",
            )
    files = text_files(data)
    require([name for _, name in named], files, data, COMES_FROM)
    return files


def task_of(row: Row, documents: Mapping[str, Path]) -> Task:
    """One question with its own documents; the target is the answer as upstream wrote it."""
    names, hints = names_in(row["source_files"]), names_in(row["source_docs"])
    task = Task(
        id=row["uid"],
        input=user_message(row["question"], names, hints),
        target=row["answer"],
        stratum=row.get("difficulty") or row.get("category", ""),
        files={name: documents[name] for name in names},
        metadata={"question": row["question"], "source_files": list(names), "source_docs": list(hints)},
    )
    return finished(task, rules=RULES)
