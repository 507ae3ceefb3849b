"""A toy setup for rollout tests: a game on unit names, an agent that plays it, injected faults and a fake clock."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from skillsv.model.coalition import ChainPlan, Coalition, Operator, RenderedFile, Rendering
from skillsv.model.events import Event
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task, TaskWindow
from skillsv.rollout.engine import Engine, LocalEngine
from skillsv.rollout.ledger import Ledger
from skillsv.rollout.run_control import RunnerOptions, Stop, Timing
from skillsv.rollout.runner import Runner

TRIGGER = "m"
BOTH = (Operator.DELETE, Operator.PAD)


def units(n: int) -> tuple[str, ...]:
    """The trigger and n - 1 execution units."""
    return (TRIGGER, *(f"u{index}" for index in range(1, n)))


def tasks(n: int) -> dict[str, Task]:
    return {f"t{index}": Task(id=f"t{index}", input=f"task {index}", digest=f"digest-{index}") for index in range(n)}


def render(coalition: Coalition, operator: Operator, everything: Coalition, edited: str = "") -> Rendering:
    """The names of the units; absent ones are dots when padded. The empty coalition is the bare agent."""
    text = " ".join(f"{unit} (edited)" if unit == edited else unit for unit in sorted(coalition))
    if operator is Operator.PAD:
        text += " ." * len(everything - coalition)
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest() if coalition else "bare"
    files = (RenderedFile(path="SKILL.md", data=data, digest=digest),) if coalition else ()
    return Rendering(
        coalition=coalition, operator=operator, skill_name="toy", main="SKILL.md", files=files, digest=digest
    )


def plan(n: int = 6, b: int = 4, *, index: int = 0, tolerance: float | None = None, operators=BOTH, rotate: int = 0):
    execution = units(n)[1:]
    turn = rotate % max(1, len(execution))
    return ChainPlan(
        index=index,
        order=(TRIGGER, *execution[turn:], *execution[:turn]),
        window=TaskWindow(tasks=tuple(tasks(b))),
        operators=operators,
        tolerance=tolerance,
    )


def play(text: str | None, task: str) -> float:
    """A deterministic score in {0, 1} that depends on every unit, on padding and on the task."""
    if text is None:
        return 0.0
    seed = hashlib.sha256(f"{text}|{task}".encode()).digest()[0]
    return float(seed % 8 < min(7, text.count("u")))


@dataclass
class ToyAgent:
    """Plays the game. `fault(task, number of calls for this rollout)` may raise; `calls` counts every invocation."""

    fault: Callable[[str, int], None] = lambda task, call: None
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    calls: Counter = field(default_factory=Counter)
    active: int = 0
    peak: int = 0
    fingerprint: str = "toy/1"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        key = (None if skill is None else skill.digest, task.id, replicate)
        self.calls[key] += 1
        self.active += 1
        self.peak = max(self.peak, self.active)
        try:
            if self.seconds:
                await anyio.sleep(self.seconds)
            else:
                await anyio.lowlevel.checkpoint()
            self.fault(task.id, self.calls[key])
        finally:
            self.active -= 1
        return Outcome(answer=str(play(None if skill is None else skill.text, task.id)), usage=self.usage)


class RuleAgent(ToyAgent):
    """Scores by a rule: (has skill, task, replicate) to score."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    async def run(self, skill, task, replicate, workspace):
        await super().run(skill, task, replicate, workspace)
        return Outcome(answer=str(self.rule(skill is not None, task.id, replicate)))


class ToyVerifier:
    async def score(self, task: Task, outcome: Outcome, workspace: Path) -> float:
        return float(outcome.answer)


@contextlib.asynccontextmanager
async def no_workspace(task: Task):
    yield Path()


class FakeTime:
    """A clock that only `sleep` moves; `sleep` returns at once."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()

    @property
    def timing(self) -> Timing:
        return Timing(clock=self.clock, sleep=self.sleep)


@dataclass
class World:
    """A runner on a toy game, with everything that a test inspects."""

    folder: Path
    agent: ToyAgent = field(default_factory=ToyAgent)
    n: int = 6
    b: int = 4
    options: RunnerOptions = field(default_factory=RunnerOptions)
    verifier: object = field(default_factory=ToyVerifier)
    stop: Stop = field(default_factory=Stop)
    time: FakeTime = field(default_factory=FakeTime)
    events: list[Event] = field(default_factory=list)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    edited: str = ""
    engine: Engine | None = None
    on_event: Callable[[Event], None] = lambda event: None

    def runner(self, ledger: Ledger) -> Runner:
        everything = frozenset(units(self.n))

        def listen(event: Event) -> None:
            self.events.append(event)
            self.on_event(event)

        return Runner(
            self.engine or LocalEngine(self.agent, self.verifier, workspace=no_workspace),
            ledger,
            lambda coalition, operator: render(coalition, operator, everything, self.edited),
            self.tasks or tasks(self.b),
            self.agent.fingerprint,
            self.options,
            listen,
            stop=self.stop,
            timing=self.time.timing,
        )

    def run(self, policies, on_result=None) -> list:
        """Run policies on the ledger of the folder."""

        async def go() -> list:
            with Ledger.open(self.folder / "ledger.sqlite") as ledger:
                self.last = self.runner(ledger)
                return await self.last.run_policies(policies, on_result)

        return anyio.run(go)
