"""Monthly files of questions, read as tasks: the right choice is put among the others and all are shuffled."""

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
from skillsv_bench.benchmark import Loaded, Paper, Rejected, Source, finished
from skillsv_bench.livemath.agents import user_message
from skillsv_bench.manifests import manifest_notes, read_items, refuse_missing, refuse_partial

# Which choice an answer names, and whether it is the right one.

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)


def said(text: str) -> str:
    """What stands in the last answer tags, else the last line that is not empty."""
    tagged = _ANSWER.findall(text)
    if tagged:
        return str(tagged[-1]).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def as_label(text: str) -> str:
    """A text written as labels are: capitals, nothing trailing."""
    return text.strip().upper().rstrip(".):")


def chosen(text: str, choices: Sequence[Mapping[str, str]]) -> str | None:
    """The label that an answer names: by itself, by a choice's whole text, or by its first word."""
    answer = said(text)
    labels = {as_label(choice["label"]) for choice in choices}
    if as_label(answer) in labels:
        return as_label(answer)
    for choice in choices:
        if choice["text"].strip().lower() == answer.lower():
            return as_label(choice["label"])
    first = as_label(answer.split()[0]) if answer else ""
    return first if first in labels else None


class LabelVerifier:
    """1 for the right choice, 0 for any other answer."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of this outcome."""
        del workspace
        return float(chosen(outcome.answer, task.metadata["choices"]) == task.target)


# The paper's setting for this benchmark.

PAPER = Paper(tasks={"train": 35, "val": 18, "test": 124}, panel_a=60, panel_b=62, turns=1)


MANIFESTS = "livemathematicianbench_id_split"
RULES = "livemath/1"
SEED = 42
"""One seed for every coalition: a question looks the same whichever units are kept."""

COMES_FROM = (
    "The questions are data/MONTH/qa_MONTH_final.json of the dataset LiveMathematicianBench/LiveMathematicianBench "
    "on Hugging Face (download with --local-dir: links out of the folder are not followed); the manifests are "
    "data/livemathematicianbench_id_split of github.com/microsoft/SkillOpt."
)

Words = Annotated[str, Meta(pattern=r"\S")]


class Choice(msgspec.Struct):
    """One option as upstream writes it."""

    label: str
    text: Words


class Question(msgspec.Struct):
    """The part of an item that may be shown; upstream leaves the right choice out of `choices`."""

    question: Words
    correct_choice: Choice
    choices: Annotated[list[Choice], Meta(min_length=1, max_length=len(ascii_uppercase) - 1)]


class Item(msgspec.Struct):
    """An item of a monthly file. Theorem and sketch are not read: nobody may see them."""

    month: Words
    no: int
    mcq: Question


def load(source: Source) -> Loaded:
    """The tasks of a split in the manifest's order, or all there are."""
    files = _monthly_files(source.data)
    tasks: dict[str, Task] = {}
    rejected: list[Rejected] = []
    for file in files:
        for found in _read(file):
            if isinstance(found, Rejected):
                rejected.append(found)
            elif found.id in tasks:
                raise TaskError(f"the question {found.id} is there twice.", where=str(file), hint="Remove one of them.")
            else:
                tasks[found.id] = found
    items = read_items(source, MANIFESTS)
    notes = manifest_notes(source, items, PAPER)
    refused = {task.id: task for task in rejected}
    there = {*tasks, *refused}
    if items is None:
        refuse_partial(source, MANIFESTS, there, hint=COMES_FROM)
        return Loaded(tasks=tuple(tasks.values()), rejected=tuple(rejected), notes=notes)
    wanted = [str(item.get("id")) for item in items]
    refuse_missing(source, wanted, there, hint=COMES_FROM)
    return Loaded(
        tasks=tuple(tasks[name] for name in wanted if name in tasks),
        rejected=tuple(refused[name] for name in wanted if name in refused),
        notes=notes,
    )


def _monthly_files(data: Path) -> Sequence[Path]:
    """The files of all months, below `data` itself or its folder `data`."""
    if not data.is_dir():
        raise TaskError("there is no such folder.", where=str(data), hint=COMES_FROM)
    root = data.resolve()
    found = sorted(file for part in ("data/", "") for file in data.glob(f"{part}*/qa_*_final.json"))
    files = [file for file in found if file.is_file() and file.resolve().is_relative_to(root)]
    if not files:
        raise TaskError("there are no files MONTH/qa_MONTH_final.json here.", where=str(data), hint=COMES_FROM)
    return files


def _read(file: Path) -> Iterator[Task | Rejected]:
    try:
        raw = msgspec.json.decode(file.read_bytes(), type=list[msgspec.Raw])
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(f"the questions cannot be read: {error}.", where=str(file), hint=COMES_FROM) from error
    for number, item in enumerate(raw, start=1):
        try:
            yield task_of(msgspec.json.decode(item, type=Item))
        except msgspec.ValidationError as error:
            yield Rejected(id=_name(item, f"{file.name}#{number}"), why=f"the item cannot be used: {error}.")


def _name(item: msgspec.Raw, otherwise: str) -> str:
    """The id of an item that is broken elsewhere."""
    fields = msgspec.json.decode(item)
    if isinstance(fields, Mapping) and {"month", "no"} <= fields.keys():
        return f"{fields['month']}:{fields['no']}"
    return otherwise


def task_of(item: Item) -> Task:
    """The question with its choices shuffled and labelled anew; the target is the right label."""
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
    return finished(task, rules=RULES)


def shuffle(name: str, texts: Sequence[str], seed: int = SEED) -> list[str]:
    """The choices of a question in the order in which everybody sees them."""
    shuffled = list(texts)
    Random(int(sha256(f"{seed}:{name}".encode()).hexdigest()[:16], 16)).shuffle(shuffled)
    return shuffled
