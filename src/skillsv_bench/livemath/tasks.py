"""Reads monthly files of questions as tasks, with the right choice shuffled among the others, and scores answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import Annotated

import msgspec
from msgspec import Meta

from skillsv.errors import TaskError
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.benchmark import LoadedTasks, PaperSetting, RejectedTask, Source, add_digest
from skillsv_bench.livemath.agents import read_choices, user_message
from skillsv_bench.manifests import manifest_notes, read_items, refuse_missing, refuse_partial

PAPER = PaperSetting(tasks={"train": 35, "val": 18, "test": 124}, panel_a=60, panel_b=62, turns=1)
"""The paper's setting."""

MANIFESTS = "livemathematicianbench_id_split"
"""The folder of the released manifests."""

VERIFIER_VERSION = "livemath/1"
"""Raise the version when the rules of scoring or the form of tasks change."""

SEED = 42
"""The seed of the shuffle, the same for every coalition: a question never depends on the units of the skill."""

DATA_ORIGIN = (
    "The questions are data/MONTH/qa_MONTH_final.json of the dataset LiveMathematicianBench/LiveMathematicianBench "
    "on Hugging Face (download with --local-dir: links out of the folder are not followed); the manifests are "
    "data/livemathematicianbench_id_split of github.com/microsoft/SkillOpt."
)
"""Where a user gets the data."""

NonEmptyText = Annotated[str, Meta(pattern=r"\S")]
"""A text with at least one character that is not space."""

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
"""The answer tags and their content."""


class Choice(msgspec.Struct):
    """One option as upstream writes it."""

    label: str
    text: NonEmptyText


class Question(msgspec.Struct):
    """The part of an item that may be shown; upstream leaves the right choice out of `choices`."""

    question: NonEmptyText
    correct_choice: Choice
    choices: Annotated[list[Choice], Meta(min_length=1, max_length=len(ascii_uppercase) - 1)]


class Item(msgspec.Struct):
    """An item of a monthly file. Theorem and sketch are not read: no agent may see them."""

    month: NonEmptyText
    no: int
    mcq: Question


def load(source: Source) -> LoadedTasks:
    """Load the tasks of a split in the manifest's order, or all tasks."""
    files = _find_monthly_files(source.data)
    tasks: dict[str, Task] = {}
    rejected: list[RejectedTask] = []
    for file in files:
        for task in _read(file):
            if isinstance(task, RejectedTask):
                rejected.append(task)
            elif task.id in tasks:
                raise TaskError(f"the question {task.id} is there twice.", where=str(file), hint="Remove one of them.")
            else:
                tasks[task.id] = task
    items = read_items(source, MANIFESTS)
    notes = manifest_notes(source, items, PAPER)
    rejected_by_id = {task.id: task for task in rejected}
    present = {*tasks, *rejected_by_id}
    if items is None:
        refuse_partial(source, MANIFESTS, present, hint=DATA_ORIGIN)
        return LoadedTasks(tasks=tuple(tasks.values()), rejected=tuple(rejected), notes=notes)
    wanted = [str(item.get("id")) for item in items]
    refuse_missing(source, wanted, present, hint=DATA_ORIGIN)
    return LoadedTasks(
        tasks=tuple(tasks[name] for name in wanted if name in tasks),
        rejected=tuple(rejected_by_id[name] for name in wanted if name in rejected_by_id),
        notes=notes,
    )


def _find_monthly_files(data: Path) -> Sequence[Path]:
    """Find the files of all months, below `data` itself or its folder `data`. Links may not lead out of it."""
    if not data.is_dir():
        raise TaskError("there is no such folder.", where=str(data), hint=DATA_ORIGIN)
    root = data.resolve()
    candidates = sorted(file for part in ("data/", "") for file in data.glob(f"{part}*/qa_*_final.json"))
    files = [file for file in candidates if file.is_file() and file.resolve().is_relative_to(root)]
    if not files:
        raise TaskError("there are no files MONTH/qa_MONTH_final.json here.", where=str(data), hint=DATA_ORIGIN)
    return files


def _read(file: Path) -> Iterator[Task | RejectedTask]:
    try:
        raw = msgspec.json.decode(file.read_bytes(), type=list[msgspec.Raw])
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(f"the questions cannot be read: {error}.", where=str(file), hint=DATA_ORIGIN) from error
    for number, item in enumerate(raw, start=1):
        try:
            yield make_task(msgspec.json.decode(item, type=Item))
        except msgspec.ValidationError as error:
            yield RejectedTask(id=_find_id(item, f"{file.name}#{number}"), why=f"the item cannot be used: {error}.")


def _find_id(item: msgspec.Raw, otherwise: str) -> str:
    """Return the id of an item whose other fields are invalid."""
    fields = msgspec.json.decode(item)
    if isinstance(fields, Mapping) and {"month", "no"} <= fields.keys():
        return f"{fields['month']}:{fields['no']}"
    return otherwise


def make_task(item: Item) -> Task:
    """Make the task: choices shuffled and labelled anew; the target is the right label."""
    name = f"{item.month}:{item.no}"
    right = item.mcq.correct_choice.text.strip()
    texts = [choice.text.strip() for choice in item.mcq.choices]
    shuffled = shuffle(name, texts if right in texts else [*texts, right])
    labels = ascii_uppercase[: len(shuffled)]
    choices = [{"label": label, "text": text} for label, text in zip(labels, shuffled, strict=True)]
    question = item.mcq.question.strip()
    task = Task(
        id=name,
        input=user_message(question, choices),
        target=labels[shuffled.index(right)],
        stratum=item.month,
        metadata={"question": question, "choices": choices},
    )
    return add_digest(task, verifier=VERIFIER_VERSION)


def shuffle(name: str, texts: Sequence[str], seed: int = SEED) -> list[str]:
    """Shuffle the choices of a question, by its name and the seed alone."""
    shuffled = list(texts)
    Random(int(sha256(f"{seed}:{name}".encode()).hexdigest()[:16], 16)).shuffle(shuffled)
    return shuffled


def extract_answer(text: str) -> str:
    """Return the text in the last answer tags, else the last line that is not empty."""
    tagged = _ANSWER.findall(text)
    if tagged:
        return str(tagged[-1]).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def normalize_label(text: str) -> str:
    """Write a text as labels are written: capitals, no trailing punctuation."""
    return text.strip().upper().rstrip(".):")


def find_chosen_label(text: str, choices: Sequence[Mapping[str, str]]) -> str | None:
    """Find the label that an answer names: by itself, by a choice's whole text, or by its first word."""
    answer = extract_answer(text)
    labels = {normalize_label(choice["label"]) for choice in choices}
    if normalize_label(answer) in labels:
        return normalize_label(answer)
    for choice in choices:
        if choice["text"].strip().lower() == answer.lower():
            return normalize_label(choice["label"])
    first = normalize_label(answer.split()[0]) if answer else ""
    return first if first in labels else None


class LabelVerifier:
    """1 for the right choice, 0 for any other answer."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome."""
        del workspace
        return float(find_chosen_label(outcome.answer, read_choices(task)) == task.target)
