"""What rollouts cost: so far and in a forecast; and whether a limit of money can be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillsv.agents import price_known
from skillsv.errors import SettingsError
from skillsv.estimate import evaluated_share
from skillsv.model.events import Event, Note, RolloutFinished
from skillsv.model.format import money, plural
from skillsv.model.protocols import Listener
from skillsv.model.skill import CompiledSkill
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import PreparedRun, ValuationJob, forecast_job
from skillsv.rollout import Forecast, Ledger, PerRollout, RunFolder
from skillsv.rollout.forecast import cost_of
from skillsv.settings import Settings, settings_from


def measured_limits(settings: Settings) -> list[str]:
    """The limits that hold whatever an agent reports. Tokens are not among them: an agent need not count them."""
    rollouts = [] if settings.max_rollouts is None else [f"--max-rollouts {settings.max_rollouts}"]
    seconds = [] if settings.max_seconds is None else [f"--max-seconds {settings.max_seconds:g}"]
    return [*rollouts, *seconds]


def needs_cost(settings: Settings) -> bool:
    """Whether money is the only limit that can end the run."""
    return settings.budget_usd is not None and not measured_limits(settings)


def measured_cost(folder: RunFolder, fingerprint: str) -> PerRollout:
    """What a rollout of this agent took on average, by all that the folder's ledger holds of it, a probe included."""
    if not folder.ledger.is_file():
        return PerRollout()
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        total = ledger.summary(agent=fingerprint)
    return PerRollout.measured(total.scored + total.missing, total.usage, total.seconds)


def measured_gamma(folder: RunFolder, compiled: CompiledSkill, settings: Settings) -> float | None:
    """The share of prefixes that the chains of the run in this folder evaluated before truncation.

    None where the folder has no finished chain of this skill with the same tolerance and operators.
    """
    manifest = folder.manifest()
    if manifest is None or manifest.get("digest") != compiled.digest or settings.method != "chain":
        return None
    earlier = settings_from(manifest.get("settings", {}))
    if replace(earlier, tolerance=settings.tolerance, operators=settings.operators, method="chain") != earlier:
        return None
    return evaluated_share(compiled, tuple(folder.chains().values()))


def recorded_result_settings(folder: RunFolder, compiled: CompiledSkill) -> Mapping[str, Any] | None:
    """The settings that decide the result of the run in this folder, where it values the same skill."""
    manifest = folder.manifest() if folder.path.is_dir() else None
    if manifest is None or manifest.get("digest") != compiled.digest:
        return None
    settings: Mapping[str, Any] = manifest.get("settings", {})
    return settings


def with_measured_cost(prepared: PreparedRun, measured: PerRollout, gamma: float | None = None) -> PreparedRun:
    """The same run with a forecast of tokens, money and time, and of truncation, as far as they were measured."""
    tasks = len(prepared.panel_a.tasks)
    return replace(prepared, forecast=forecast_job(prepared.compiled, prepared.job.settings, tasks, measured, gamma))


def forecast_more_rollouts(folder: RunFolder, jobs: int, low: int, high: int) -> Forecast:
    """The cost of `low` to `high` more rollouts, at what the rollouts of the run in this folder took."""
    status = folder.status()
    measured = PerRollout.measured(status.rollouts, status.usage, status.seconds)
    few, many = (cost_of(number, measured, jobs=jobs) for number in (low, high))
    return Forecast(low=few, expected=few, high=many, method="confirm")


def require_measurable_budget(job: ValuationJob, measured: PerRollout) -> None:
    """Raise SettingsError where money is the only limit and the cost of a rollout is unknown."""
    if not needs_cost(job.settings) or measured.usage.usd is not None:
        return
    if make_client(price_known, job.agent, job.settings, job.folder):
        return
    advice = "If the agent reports its cost, `skillsv plan --probe` measures it."
    if job.agent.startswith("model:"):
        advice = "`skillsv value --prices FILE.toml` sets the price of a model."
    raise SettingsError(
        f"--budget-usd {job.settings.budget_usd:g} cannot be measured: the cost of a rollout of `{job.agent}` is "
        "unknown.",
        hint=f"Add a limit such as --max-rollouts 500. {advice}",
    )


class CostListener:
    """Passes events on. Adds one note on the cost of a rollout, or that a limit of money cannot be measured."""

    def __init__(self, listener: Listener, settings: Settings, expected: int) -> None:
        self._listener = listener
        self._settings = settings
        self._expected = expected
        self._rollouts = 0
        self._usd = 0.0
        self._unmeasured = False

    def __call__(self, event: Event) -> None:
        """Pass one event on, and count its cost."""
        self._listener(event)
        if not isinstance(event, RolloutFinished) or event.reused or event.score is None:
            return
        if event.usage.usd is None:
            self._note_unmeasured()
            return
        self._rollouts += 1
        self._usd += event.usage.usd
        if self._rollouts == self._settings.jobs and self._usd:
            self._note_cost()

    def _note_unmeasured(self) -> None:
        limits = measured_limits(self._settings)
        if self._unmeasured or self._settings.budget_usd is None or not limits:
            return
        self._unmeasured = True
        message = f"The agent does not report its cost: --budget-usd cannot be measured, only {' and '.join(limits)}"
        self._listener(Note(message=f"{message} {'hold' if len(limits) > 1 else 'holds'}."))

    def _note_cost(self) -> None:
        """The average over the first batch: as many rollouts as run at once."""
        usd = self._usd / self._rollouts
        total = f"about {money(usd * self._expected)} for {plural(self._expected, 'rollout')}"
        self._listener(Note(message=f"A rollout costs about {money(usd, digits=4)}: {total}."))
