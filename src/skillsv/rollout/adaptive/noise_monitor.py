"""Decides during a run which tasks are noisy, and whether the agent as a whole is.

A *check* scores a coalition a second time: under a null change (a blank line, a comment, filler) or as it is. The
policy and the task searches report each check with its task; the policy reads the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW = 40
"""Checks that count, the most recent ones, or one per task if that is more: noise that begins late is then noticed."""

NOISY_TASKS = 2
"""Noisy tasks that make the agent noisy: a single one is treated as noisy on its own."""


class _ReportedChecks(list[bool]):
    """The checks of one task search: an entry is True where the score differs. Each is reported, too."""

    def __init__(self, report: Callable[[bool], None]) -> None:
        super().__init__()
        self._report = report

    def append(self, differs: bool, /) -> None:  # noqa: FBT001 - the signature of a list
        super().append(differs)
        self._report(differs)


@dataclass(slots=True)
class PanelMonitor:
    """Counts the checks of a run, each with its task, over a panel of so many `tasks`.

    `neighbours`: after a change of the score was traced to one unit, a coalition with one more unit changed is scored;
    True where the score goes back. This may be noise or an interaction of units, so it proves nothing: the policy then
    draws further checks.
    """

    tasks: int
    checks: list[tuple[int, bool]] = field(default_factory=list)
    neighbours: list[bool] = field(default_factory=list)

    def add(self, task: int, *, differs: bool) -> None:
        """Report one check."""
        self.checks.append((task, differs))

    def of_task(self, task: int) -> NoiseMonitor:
        """The monitor as the search of one task uses it."""
        return NoiseMonitor(self, task)

    @property
    def differing(self) -> int:
        """The number of checks that gave another score."""
        return sum(differs for _, differs in self.checks)

    @property
    def noisy_tasks(self) -> frozenset[int]:
        """The tasks on which a check gave another score."""
        return frozenset(task for task, differs in self.checks if differs)

    @property
    def noisy(self) -> bool:
        """Whether several tasks are noisy by the most recent checks."""
        recent = self.checks[-max(WINDOW, self.tasks) :]
        return len({task for task, differs in recent if differs}) >= min(NOISY_TASKS, self.tasks)


class NoiseMonitor:
    """What the search of one task reads and reports: `repeats` (True where a score differs), `neighbours`, `noisy`."""

    def __init__(self, monitor: PanelMonitor, task: int) -> None:
        self._monitor = monitor
        self.repeats = _ReportedChecks(lambda differs: monitor.add(task, differs=differs))
        self.neighbours = monitor.neighbours

    @property
    def noisy(self) -> bool:
        """Whether the agent or this task proved noisy: the search then ends."""
        return any(self.repeats) or self._monitor.noisy
