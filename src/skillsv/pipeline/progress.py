"""Progress of a run on stderr: a live bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from skillsv.model.events import (
    AgentStarted,
    ChainFinished,
    Event,
    Note,
    RolloutFinished,
    RolloutRetried,
    RunFinished,
    RunStarted,
    UnitsDecided,
)
from skillsv.model.format import count, duration, plural, usage_parts
from skillsv.model.protocols import Listener
from skillsv.model.rollout import FailureKind, Usage

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Clock = Callable[[], float]

LINE_INTERVAL = 10.0
"""Seconds between two plain lines of one run, so that a log stays readable."""


_Key = tuple[str, str, str, int]
"""What tells rollouts apart: agent, rendering, task and replicate."""


def _key(event: RolloutFinished) -> _Key:
    return event.agent, event.tree, event.task, event.replicate


@dataclass(slots=True)
class Counts:
    """Numbers of rollouts, chains and failures of one run, counted from its events.

    `reused` are answers that earlier commands paid for, `repeated` those that this one has paid for or reused before.
    """

    clock: Clock
    started: float = 0.0
    expected: int = 0
    chains: int = 0
    chains_done: int = 0
    decided: int | None = None
    units: int = 0
    paid: int = 0
    reused: int = 0
    repeated: int = 0
    missing: int = 0
    retried: int = 0
    usage: Usage = field(default_factory=Usage)
    kinds: Counter[FailureKind] = field(default_factory=Counter)
    known: set[_Key] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Count one event."""
        match event:
            case RunStarted():
                self.started = self.clock()
                self.expected, self.chains = event.expected_rollouts, event.chains
            case RolloutFinished(reused=True) if _key(event) in self.known:
                self.repeated += 1
            case RolloutFinished(reused=True):
                self.known.add(_key(event))
                self.reused += 1
            case RolloutFinished():
                self.known.add(_key(event))
                self.paid += event.score is not None
                self.missing += event.score is None
                self.usage += event.usage
            case RolloutRetried():
                self.retried += 1
                self.kinds[event.kind] += 1
            case ChainFinished():
                self.chains_done += 1
            case UnitsDecided():
                self.decided, self.units = event.decided, event.units
            case AgentStarted() | Note() | RunFinished():
                pass

    def after(self, event: Event) -> Counts:
        """The counts with one event; new ones where it starts another agent."""
        if isinstance(event, AgentStarted):
            return Counts(self.clock, started=self.clock())
        self.add(event)
        return self

    @property
    def answered(self) -> int:
        """Rollouts that have finished, paid, reused, repeated or missing."""
        return self.paid + self.reused + self.repeated + self.missing

    @property
    def seconds_left(self) -> float | None:
        """Time for the rest of the forecast at the speed of the rollouts executed so far; None while unknown."""
        rest, executed = self.expected - self.answered, self.paid + self.missing
        if executed == 0 or rest <= 0:
            return None
        return rest * max(0.0, self.clock() - self.started) / executed

    def line(self, *, done: bool = False) -> str:
        """The counts in one line; without the time that is left once the run is done."""
        parts = [
            *([f"{self.chains_done}/{self.chains} chains"] if self.chains else []),
            *([f"{count(self.decided)} of {plural(self.units, 'line')} decided"] if self.decided is not None else []),
            plural(self.paid, "rollout"),
            f"{count(self.reused)} reused",
            f"{count(self.missing)} failed",
        ]
        if self.retried:
            parts.append(f"{count(self.retried)} retried ({self.kinds.most_common(1)[0][0]})")
        if spending := usage_parts(self.usage):
            parts.append(", ".join(spending))
        left = None if done else self.seconds_left
        if left is not None:
            parts.append(f"about {duration(left)} left")
        return " · ".join(parts)


NOTE_CHARACTERS = 2000
"""Longest note in a log: notes are sentences of this program, so that a usual one is never cut."""


def one_line(text: str, most: int = 300) -> str:
    """Text of agents and services made safe to print: no control characters, one line, not too long."""
    clean = "".join(character if character.isprintable() else " " for character in text)
    return clean if len(clean) <= most else clean[: most - 1] + "…"


class PlainProgress:
    """A listener that writes lines for a log: each note, the counts at intervals, the end."""

    def __init__(self, stream: TextIO, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._counts = Counts(clock)
        self._clock = clock
        self._last_line = clock()

    def __call__(self, event: Event) -> None:
        """Count one event, and write a line where it needs one."""
        self._counts = self._counts.after(event)
        match event:
            case RunStarted():
                chains = f"{event.chains} chains, " if event.chains else ""
                self._say(f"run {one_line(event.run)}: {chains}about {plural(event.expected_rollouts, 'rollout')}")
            case Note():
                self._say(one_line(event.message, NOTE_CHARACTERS))
            case RolloutRetried() if self._counts.kinds[event.kind] == 1:
                self._say(f"{event.kind} on task {one_line(event.task)}, trying again: {one_line(event.message)}")
            case RunFinished():
                self._say(f"{one_line(event.reason).rstrip('.')}: {self._counts.line(done=True)}")
            case _ if self._clock() - self._last_line >= LINE_INTERVAL:
                self._say(self._counts.line())
            case _:
                pass

    def _say(self, line: str) -> None:
        self._last_line = self._clock()
        # A log that cannot be written must not end a run that costs money.
        with suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()


class LiveProgress:
    """A listener that moves a progress bar and prints notes above it."""

    def __init__(self, bar: Progress, clock: Clock = time.monotonic) -> None:
        self._bar = bar
        self._counts = Counts(clock)
        self._task: TaskID | None = None

    def __call__(self, event: Event) -> None:
        """Count one event and move the bar."""
        self._counts = self._counts.after(event)
        with suppress(OSError, ValueError):
            self._show(event)

    def _show(self, event: Event) -> None:
        from rich.text import Text

        match event:
            case AgentStarted():
                self._task = None  # the bar of the agent before stays as it ended
            case RunStarted():
                self._task = self._bar.add_task("", total=event.expected_rollouts)
            case Note():
                self._bar.console.print(Text(one_line(event.message, NOTE_CHARACTERS), style="color(130)"))
            case RunFinished() if self._task is not None and event.reason == "done":
                # Truncation and reuse make the true number differ from the forecast: the bar ends full.
                self._bar.update(self._task, total=max(1, self._counts.answered))
            case _:
                pass
        if self._task is not None:
            self._bar.update(self._task, completed=self._counts.answered, description=self._counts.line())


@contextmanager
def progress(stream: TextIO | None = None, *, quiet: bool = False) -> Iterator[Listener]:
    """A listener that shows a run on `stream` (stderr if None) for as long as the block lasts."""
    stream = sys.stderr if stream is None else stream
    if quiet:
        yield lambda _event: None
    elif stream.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (BarColumn(bar_width=24), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=Console(file=stream), refresh_per_second=5) as bar:
            yield LiveProgress(bar)
    else:
        yield PlainProgress(stream)
