"""Flags of commands that spend on a stored run: where tasks and agent are, limits, consent, progress."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Group, Parameter

from skillsv.cli.flags import setting_parameter
from skillsv.model.protocols import Listener

if TYPE_CHECKING:
    from skillsv.pipeline import RunOverrides
    from skillsv.rollout import Forecast, Stop

T = TypeVar("T")
SPENDING = Group("Spending")
"""The panel of these flags in `--help`."""


@Parameter(name="*", group=SPENDING)
@dataclass(frozen=True, kw_only=True)
class SpendingFlags:
    """Where tasks and agent are, if not where the run recorded them, and what may be spent."""

    tasks: Annotated[Path | None, Parameter(help="Where the tasks are now, or new tasks to confirm on.")] = None
    agent: Annotated[str | None, Parameter(help="Another agent than the one the run recorded.")] = None
    judge: Annotated[str | None, setting_parameter("judge", "Agent that grades prose and ranks units.")] = None
    jobs: Annotated[int | None, setting_parameter("jobs", "Rollouts at once.")] = None
    engine: Annotated[
        str | None,
        setting_parameter("engine", "Where rollouts run: local, ray, or ray:HOST:PORT [as the run recorded]."),
    ] = None
    max_rollouts: Annotated[int | None, setting_parameter("max_rollouts")] = None
    budget_usd: Annotated[float | None, setting_parameter("budget_usd")] = None
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Spend without asking.")] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), help="No progress on stderr.")] = False

    def overrides(self) -> RunOverrides:
        """What these flags change in the run. Raises SettingsError where a value cannot be used."""
        from skillsv.pipeline import RunOverrides
        from skillsv.settings import settings_from

        values = {name: getattr(self, name) for name in ("judge", "jobs", "engine", "max_rollouts", "budget_usd")}
        settings_from({name: value for name, value in values.items() if value is not None})
        return RunOverrides(tasks=self.tasks, agent=self.agent, **values)

    def consent(self, forecast: Forecast, advice: Iterable[str] = ()) -> None:
        """Print the forecast, and go on only with a yes or a limit."""
        from skillsv.api.plan import forecast_lines
        from skillsv.cli.consent import agree

        limited = self.max_rollouts is not None or self.budget_usd is not None
        agree((*forecast_lines(forecast), *advice), yes=self.yes or limited)

    def spend(self, work: Callable[[Listener, Stop], Awaitable[T]]) -> T:
        """Run the rollouts of a command, with progress on stderr. Ctrl-C ends it and keeps the finished ones."""
        import anyio

        from skillsv.pipeline.progress import progress
        from skillsv.rollout import Stop

        async def session() -> T:
            with progress(sys.stderr, quiet=self.quiet) as listener:
                return await work(listener, Stop())

        return anyio.run(session)
