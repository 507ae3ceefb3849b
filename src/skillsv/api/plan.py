"""What a valuation will cost: the forecast of a skill, tasks and settings, before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path

from skillsv.api.budgets import BudgetTable
from skillsv.api.inputs import Inputs
from skillsv.api.run_place import TemporaryFolder, choose_place
from skillsv.api.skill import Skill, compile, compiler_settings  # noqa: A004 - the public name
from skillsv.api.sync import run_sync
from skillsv.confirmation.gate import Gate
from skillsv.errors import SettingsError
from skillsv.model.coalition import KnownAnswers
from skillsv.model.format import count, decimal, duration, money, plural
from skillsv.model.plan_document import CostDocument, PlanDocument
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.task import Task
from skillsv.pipeline import (
    PreparedRun,
    ValuationJob,
    forecast_job,
    measured_cost,
    measured_gamma,
    prepare,
    probe,
    require_measurable_budget,
    with_measured_cost,
)
from skillsv.pipeline.cost import recorded_result_settings
from skillsv.pipeline.job import EARLIER_UNITS, job_of_earlier_version, with_recorded_prior
from skillsv.pipeline.known_rollouts import find_known, known_note
from skillsv.pipeline.panel_history import known_panels
from skillsv.rollout import Forecast, PerRollout, RunFolder
from skillsv.rollout.adaptive import advise
from skillsv.rollout.forecast import Cost
from skillsv.settings import Settings, load_settings, small_settings
from skillsv.tasks import NO_PANELS, ignored_builds

ASSUMED_TASKS = 60
"""Size of either panel in a plan without tasks: the smallest panel in the paper."""

USUAL_SHARE_READ = 0.5
"""Share of a skill's tokens that an average rollout shows: coalitions range from nothing to the full skill."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    r"""What a valuation will cost. `value(plan)` runs it.

    >>> import skillsv as sv
    >>> plan = sv.plan("# Tone\n\n- Be brief.\n- Be kind.\n", method="chain", orders=4)
    >>> plan.low.rollouts, plan.high.rollouts
    (333, 392)

    `low`, `expected` and `high` hold rollouts, tokens, usd and seconds; what is not known is None. `notes` are
    sentences about the settings. `tasks` is the number of tasks that values are estimated on, `held_out` that of the
    tasks kept for a proof. `gamma` is the share of
    prefixes that the chains of an earlier run in the same folder evaluated.
    """

    skill: Skill
    settings: Settings
    forecast: Forecast
    tasks: int
    held_out: int = 0
    notes: tuple[str, ...] = ()
    inputs: Inputs = field(repr=False)
    gamma: float | None = None
    per_rollout: PerRollout = field(default_factory=PerRollout, repr=False)
    prepared: PreparedRun | None = field(default=None, repr=False)
    folder: RunFolder | None = field(default=None, repr=False)
    temporary: TemporaryFolder | None = field(default=None, repr=False)

    @property
    def low(self) -> Cost:
        """The cost where little is needed."""
        return self.forecast.low

    @property
    def expected(self) -> Cost:
        """The usual cost."""
        return self.forecast.expected

    @property
    def high(self) -> Cost:
        """The cost where much is needed, for example because the agent is noisy."""
        return self.forecast.high

    @property
    def has_limit(self) -> bool:
        """Whether spending ends by itself."""
        return self.settings.has_limit

    def require_runnable(self) -> None:
        """Raise SettingsError where tasks or agent are missing, or where a limit of money cannot be measured."""
        if self.prepared is None:
            raise SettingsError("a valuation needs tasks and an agent.", hint="Pass tasks= and agent=, or evaluate=.")
        require_measurable_budget(self.prepared.job, self.per_rollout)

    def runnable_parts(self) -> tuple[PreparedRun, RunFolder]:
        """What is known before the first rollout, and the run folder. Only a plan with tasks and an agent has them."""
        assert self.prepared is not None
        assert self.folder is not None
        return self.prepared, self.folder

    def lines(self) -> list[str]:
        """The forecast in words, and what a person should know before agreeing to it."""
        return [*self.cost_lines(), *self._judge_line(), *self._budget_line()]

    def cost_lines(self) -> list[str]:
        """Rollouts, tokens, money and time in words. What is not measured is estimated from the skill, or unknown."""
        lines = forecast_lines(self.forecast)
        if self.expected.tokens is not None:
            return lines
        read = count(round(self.expected.rollouts * USUAL_SHARE_READ * self.skill_tokens))
        size = plural(self.skill_tokens, "token")
        return [*lines, f"The skill has {size}: rollouts read about {read}, besides requests and answers."]

    @cached_property
    def skill_tokens(self) -> int:
        """The tokens of all text files of the skill."""
        return self.skill.count_tokens(self.settings.tokenizer)

    def budget_table(self, gate: Gate | None = None) -> BudgetTable | None:
        """What each budget buys; None for chains, whose cost follows from their settings."""
        if self.settings.method != "auto":
            return None
        return BudgetTable(
            units=len(self.skill.compiled.execution),
            tasks=self.tasks,
            held_out=self.held_out,
            operators=len(self.settings.operators),
            gate=gate or Gate(),
        )

    def truncation_lines(self) -> list[str]:
        """What truncation and task windows save, for chains: gamma, R_full and the cost ratio of the paper."""
        forecast = self.forecast
        if forecast.gammas is None or forecast.full_rollouts is None:
            return []
        low, expected, high = (decimal(gamma, digits=2) for gamma in forecast.gammas)
        source = "assumed" if self.gamma is None else "measured by an earlier run"
        gamma = f"{expected} (no truncation)" if low == high else f"{low} to {high}, about {expected} ({source})"
        full, ratio = count(forecast.full_rollouts), decimal(forecast.cost_ratio, digits=3)
        return [
            f"Share of prefixes evaluated before truncation (gamma): {gamma}.",
            f"On the whole panel without truncation: {full} rollouts (R_full); cost ratio R / R_full about {ratio}.",
        ]

    def to_dict(self) -> PlanDocument:
        """The JSON `skillsv.plan/1`."""
        table = self.budget_table()
        return {
            **plan_dict(len(self.skill.units), self.forecast),
            "measured_gamma": self.gamma,
            "skill_tokens": self.skill_tokens,
            "budgets": [] if table is None else table.to_list(),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self.lines())

    def _judge_line(self) -> list[str]:
        panel = () if self.prepared is None else self.prepared.panel_a.tasks
        graded = sum(task.verifier.startswith("judge") for task in panel)
        if not graded:
            return []
        return [f"{graded} of {len(panel)} tasks are graded by a judge model: one more call for each rollout."]

    def _budget_line(self) -> list[str]:
        settings = self.settings
        if settings.method != "auto" or settings.max_rollouts is None or self.prepared is None:
            return []
        if self.expected.rollouts < settings.max_rollouts:
            return []
        advice = advise(
            settings.max_rollouts,
            tasks=self.tasks,
            units=len(self.skill.compiled.execution),
            sections=len(self.prepared.job.compile(granularity="section").execution),
            operators=len(settings.operators),
        )
        return [] if advice is None else [f"{advice.message} {advice.hint}"]


def plan(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agent: str | Agent | Callable[..., object] | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    evaluate: Callable[..., object] | None = None,
    examples: Iterable[object] | None = None,
    version: str = "",
    run_dir: str | os.PathLike[str] | None = None,
    **settings: object,
) -> Plan:
    r"""Say what a valuation would cost. Runs nothing and writes nothing.

    >>> import skillsv as sv
    >>> print(sv.plan("# Tone\n\n- Be brief.\n- Be kind.\n", max_rollouts=300))
    Forecast: 300 to 300 rollouts, about 300 (with all checks, without retries; fewer where earlier ones are reused).
    Tokens unknown; cost unknown; time unknown.
    'skillsv plan ... --probe' measures them with four rollouts.
    The skill has 11 tokens: rollouts read about 1,650, besides requests and answers.

    The arguments are those of `value`. Without tasks the forecast assumes 60; with tasks and an agent, `value(plan)`
    runs exactly this plan.
    """
    inputs = Inputs(tasks=tasks, agent=agent, verifier=verifier, evaluate=evaluate, examples=examples, version=version)
    return make_plan(skill, inputs, settings, run_dir=None if run_dir is None else Path(run_dir))


def make_plan(
    skill: Skill | str | os.PathLike[str],
    inputs: Inputs,
    given: dict[str, object],
    *,
    run_dir: Path | None = None,
    default_dir: Callable[[str], Path] | None = None,
    fresh: bool = False,
    folder: Path | None = None,
) -> Plan:
    """The plan of a valuation. `default_dir` gives the run folder of a skill's name; without it a run is temporary.

    Names of files in the agent's specification are relative to `folder`, by default the working folder.
    """
    notes: list[str] = []
    if inputs.verifier_spec is not None:
        given = {**given, "verifier": inputs.verifier_spec}
    compiled = compile(skill, **compiler_settings(given))
    place = run_dir or (None if default_dir is None else default_dir(compiled.name))
    settings = load_settings(
        compiled.path,
        {**compiled.settings, **given},
        note=notes.append,
        recorded=None if place is None or fresh else recorded_result_settings(RunFolder(place), compiled.compiled),
    )
    notes += [f"Note: {note}" for note in small_settings(settings)]
    spec = inputs.agent_spec
    if spec is None or (inputs.tasks is None and inputs.examples is None):
        size, held_out = _panel_sizes(inputs, settings)
        gamma = None if place is None else measured_gamma(RunFolder(place), compiled.compiled, settings)
        return Plan(
            skill=compiled,
            settings=settings,
            forecast=forecast_job(compiled.compiled, settings, size, gamma=gamma),
            tasks=size,
            held_out=held_out,
            notes=tuple(notes),
            inputs=inputs,
            gamma=gamma,
        )
    job = ValuationJob(
        skill=compiled.path,
        tasks=inputs.path,
        agent=spec,
        settings=settings,
        folder=folder or Path.cwd(),
        task_source=inputs.source(),
        compiled=compiled.compiled,
    )
    return plan_job(job, inputs, run_dir=run_dir, default_dir=default_dir, fresh=fresh, notes=tuple(notes))


def plan_job(
    job: ValuationJob,
    inputs: Inputs | None = None,
    *,
    run_dir: Path | None = None,
    default_dir: Callable[[str], Path] | None = None,
    fresh: bool = False,
    notes: tuple[str, ...] = (),
) -> Plan:
    """The plan of a job, with the cost that earlier rollouts of its run folder measured.

    Without `inputs`, the run remembers the tasks and the agent that the job names.
    """
    name = (job.compiled or job.compile()).skill.name
    chosen = choose_place(job.skill, name, run_dir, default_dir)
    place, notes = chosen.folder, (*notes, *chosen.notes)
    panels = NO_PANELS if fresh else known_panels(place)
    prepared = prepare(job, panels)
    earlier = None if fresh else job_of_earlier_version(prepared, place)
    if earlier is not None:
        job, prepared, notes = earlier, prepare(earlier, panels), (*notes, EARLIER_UNITS)
    builds = ignored_builds((*prepared.panel_a.tasks, *prepared.panel_b.tasks))
    notes = notes if builds is None else (*notes, builds)
    known = KnownAnswers() if fresh else find_known(prepared, place)
    if known.coalitions:
        prepared = replace(prepared, known=known)
        notes = (*notes, known_note(prepared))
    prepared = prepared if fresh else with_recorded_prior(prepared, place)
    measured = PerRollout() if fresh else measured_cost(place, prepared.agent.fingerprint)
    gamma = None if fresh else measured_gamma(place, prepared.compiled, job.settings)
    prepared = with_measured_cost(prepared, measured, gamma)
    return Plan(
        skill=Skill(prepared.compiled, job.skill),
        settings=job.settings,
        forecast=prepared.forecast,
        tasks=len(prepared.panel_a.tasks),
        held_out=len(prepared.panel_b.tasks),
        notes=notes,
        inputs=inputs or Inputs(tasks=job.tasks, agent=job.agent),
        gamma=gamma,
        per_rollout=measured,
        prepared=prepared,
        folder=place,
        temporary=chosen.temporary,
    )


def measure(plan: Plan) -> Plan:
    """The same plan with the cost of a few rollouts, which are paid for and which the run that follows reuses."""
    prepared, folder = plan.runnable_parts()
    measured = run_sync(lambda _stop: probe(prepared, folder))
    return replace(plan, per_rollout=measured, forecast=with_measured_cost(prepared, measured, plan.gamma).forecast)


def forecast_lines(forecast: Forecast) -> list[str]:
    """The forecast in words: rollouts, tokens, money, time."""
    low, expected, high = forecast.low, forecast.expected, forecast.high
    rollouts = f"{count(low.rollouts)} to {count(high.rollouts)} rollouts, about {count(expected.rollouts)}"
    return [
        f"Forecast: {rollouts} (with all checks, without retries; fewer where earlier ones are reused).",
        *amount_lines(expected),
    ]


def amount_lines(expected: Cost) -> list[str]:
    """Tokens, money and time in words, and how to measure what is unknown."""
    tokens = "unknown" if expected.tokens is None else f"about {count(expected.tokens)}"
    cost = "unknown" if expected.usd is None else f"about {money(expected.usd)}"
    time = "unknown" if expected.seconds is None else f"about {duration(expected.seconds)}"
    return [
        f"Tokens {tokens}; cost {cost}; time {time}.",
        *(["'skillsv plan ... --probe' measures them with four rollouts."] if expected.usd is None else []),
    ]


def plan_dict(units: int, forecast: Forecast) -> PlanDocument:
    """The forecast for a skill of so many units as JSON values."""
    return {
        "schema": "skillsv.plan/1",
        "units": units,
        "low": _cost_dict(forecast.low),
        "expected": _cost_dict(forecast.expected),
        "high": _cost_dict(forecast.high),
        "method": forecast.method,
        "gammas": None if forecast.gammas is None else list(forecast.gammas),
        "full_rollouts": forecast.full_rollouts,
        "cost_ratio": forecast.cost_ratio,
    }


def _cost_dict(cost: Cost) -> CostDocument:
    return {"rollouts": cost.rollouts, "tokens": cost.tokens, "usd": cost.usd, "seconds": cost.seconds}


def _panel_sizes(inputs: Inputs, settings: Settings) -> tuple[int, int]:
    """The tasks to estimate on and to prove on, of those that were given, or as many as are assumed."""
    if inputs.tasks is None and inputs.examples is None:
        return ASSUMED_TASKS, ASSUMED_TASKS
    from skillsv.pipeline.job import Grading
    from skillsv.tasks import split_panels

    grading = Grading(verifier=settings.verifier, judge=settings.judge)
    loaded = inputs.source().load_tasks(inputs.path or Path(), grading)
    panel_a, panel_b = split_panels(loaded, a=settings.panel_a, b=settings.panel_b, seed=settings.seed)
    return len(panel_a.tasks), len(panel_b.tasks)
