"""Reads ALFWorld's games: one folder per trial, `json_2.1.1/<split>/<task>/<trial>/game.tw-pddl` below the data folder.

A game file holds the walkthrough that wins it. So its path stands in a task's target alone: never in a working folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from skillsv.errors import TaskError, VerifierFailure
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.benchmark import LoadedTasks, PaperSetting, RejectedTask, Source, add_digest
from skillsv_bench.manifests import Items, manifest_notes, read_items

STEPS = 50
"""Actions of one episode; a game that is not won by then is lost."""

PAPER = PaperSetting(tasks={"train": 39, "val": 18, "test": 134}, panel_a=60, panel_b=64, turns=STEPS)

DATA_ORIGIN = (
    "ALFWorld's games come with its package: `pip install alfworld`, then `alfworld-download --data-dir DIR` "
    "(github.com/alfworld/alfworld); give that DIR, which holds json_2.1.1."
)


VERIFIER_VERSION = "alfworld/1"


class Result(msgspec.Struct, frozen=True):
    """How an episode ended, as the answer of its rollout: reported by the environment, never by the client."""

    won: bool
    steps: int
    actions: tuple[str, ...] = ()

    def as_answer(self) -> str:
        """The result as text."""
        return msgspec.json.encode(self).decode()


def read_result(answer: str) -> Result:
    """The result that an answer carries. Raises ValueError where it carries none."""
    try:
        return msgspec.json.decode(answer, type=Result)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def passed(result: Result) -> bool:
    """Won within the steps of an episode."""
    return result.won and 0 <= result.steps <= STEPS


class WonVerifier:
    """Scores 1 for an episode that was won within 50 steps, else 0."""

    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        """The score of one episode."""
        del workspace
        try:
            return float(passed(read_result(outcome.answer)))
        except ValueError as error:
            raise VerifierFailure(f"the answer to {task.id} is no result of an episode: {error}.") from error


MANIFESTS = "alfworld_path_split"
"""The folder of the released manifests."""

ROOT = "json_2.1.1"
"""The folder of games in the data folder."""

FILE = "game.tw-pddl"
"""The file name of a game."""

GOAL = re.compile(r'"(Your task is to: [^"]*?)\s*"')
UNSUPPORTED = ("movable", "Sliced")
"""Kinds of trials that upstream's own text environment leaves out."""


class GameFile(msgspec.Struct, frozen=True):
    """What a game file says. `solvable` is upstream's own check; `walkthrough` is a sequence of actions that wins."""

    pddl_domain: str
    pddl_problem: str
    grammar: str
    walkthrough: tuple[str, ...] = ()
    solvable: bool = True

    @property
    def goal(self) -> str:
        """The sentence that states the task."""
        found = GOAL.search(self.grammar)
        return found[1] if found else "Your task is stated in the first observation."


def load(source: Source) -> LoadedTasks:
    """The games of a split in the manifest's order; all that are there, by the names of their folders, for `all`."""
    if not source.data.is_dir():
        raise TaskError("there is no such folder.", where=str(source.data), hint=DATA_ORIGIN)
    items = read_items(source, MANIFESTS)
    games = dict(_everything(source.data) if items is None else _listed(source.data, items))
    tasks, rejected = [], []
    for name, (file, kind) in games.items():
        game = read_game(file)
        if game.solvable:
            tasks.append(_task(name, file, kind, game))
        else:
            rejected.append(RejectedTask(id=name, why="upstream's own check found no way to win this game"))
    return LoadedTasks(tasks=tuple(tasks), rejected=tuple(rejected), notes=manifest_notes(source, items, PAPER))


def _task(name: str, file: Path, kind: str, game: GameFile) -> Task:
    task = Task(id=name, input=game.goal, target=str(file), stratum=kind)
    return add_digest(task, verifier=VERIFIER_VERSION, gold=[file])


def read_game(file: Path) -> GameFile:
    """The game file; one sentence where it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=GameFile)
    except (OSError, msgspec.MsgspecError) as error:
        raise TaskError(f"this is not a game file: {error}.", where=str(file), hint=DATA_ORIGIN) from error


def _everything(data: Path) -> Iterator[tuple[str, tuple[Path, str]]]:
    """Every game below the data folder, named by its folders."""
    root = data / ROOT if (data / ROOT).is_dir() else data
    found = sorted(file for file in root.glob(f"*/*/*/{FILE}") if file.resolve().is_relative_to(data.resolve()))
    if not found:
        raise TaskError(f"there are no games ({ROOT}/*/*/*/{FILE}) here.", where=str(data), hint=DATA_ORIGIN)
    for file in found:
        split, task, trial = file.relative_to(root).parts[:3]
        if not any(word in task for word in UNSUPPORTED):
            yield f"{split}/{task}/{trial}", (file.absolute(), task.partition("-")[0])


def _listed(data: Path, items: Items) -> Iterator[tuple[str, tuple[Path, str]]]:
    """The games of a manifest. Raises TaskError where some are missing, with how many and which."""
    games = [_item(data, item) for item in items]
    missing = [name for name, file, _ in games if not file.is_file()]
    if missing:
        names = ", ".join(missing[:2]) + (" ..." if len(missing) > 2 else "")
        what = f"{len(missing)} of the {len(games)} games of this split are missing ({names})."
        raise TaskError(what, where=str(data), hint=DATA_ORIGIN)
    for name, file, kind in games:
        yield name, (file.absolute(), kind)


def _item(data: Path, item: Mapping[str, Any]) -> tuple[str, Path, str]:
    match item:
        case {"id": str(name), "gamefile": str(place), "task_type": str(kind)}:
            file = data / place
        case _:
            raise TaskError(f"an item of the manifest lacks its id, gamefile or task_type: {dict(item)}.")
    if not file.resolve().is_relative_to(data.resolve()):
        raise TaskError(f"the game {name} lies outside the data folder: {place}.")
    return name, file, kind
