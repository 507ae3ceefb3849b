"""The only stage that spends. Every rollout goes to the ledger and every finished piece to the records, as it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from skillsv import __version__
from skillsv.errors import BudgetReached, Interrupted, SkillSVError, Unavailable
from skillsv.estimate.adaptive import assemble, value_all
from skillsv.model.coalition import ChainPlan, ChainRecord, Observation, Operator
from skillsv.model.events import Note, RunFinished, RunStarted
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Usage
from skillsv.model.value import Evidence, Spending
from skillsv.order import Sampler
from skillsv.pipeline.build_valuation import averaging_orders, estimate_options
from skillsv.pipeline.cost import CostListener, needs_cost
from skillsv.pipeline.job import PreparedRun, make_renderer
from skillsv.pipeline.session import make_engine
from skillsv.pipeline.smoke_gate import further_tasks, require_difference
from skillsv.rollout import (
    Ledger,
    RunFolder,
    Runner,
    RunnerOptions,
    Stop,
    budget,
    chain_policy,
    check_activation,
    check_noise,
    stop_on_signals,
    with_replicates,
)
from skillsv.rollout.adaptive import (
    FINISHED,
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    Budget,
    EstimateStatus,
    StopRule,
    UntilResolved,
    UntilWidth,
    adaptive_policy,
    least_budget,
)
from skillsv.sandbox.user_function import load_code
from skillsv.settings import Settings, identity_settings, settings_dict

NOISE_TASKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutResult:
    """What the rollouts gave: chains or observations, by method. `trouble` is why they ended early, if they did."""

    records: tuple[ChainRecord, ...] = ()
    observations: tuple[Observation, ...] = ()
    spending: Spending
    usage: Usage
    notes: tuple[str, ...] = ()
    trouble: SkillSVError | None = None

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to estimate from."""
        return not (self.records or self.observations)


async def roll_out(
    prepared: PreparedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop,
    *,
    fresh: bool = False,
    keep_going: bool = False,
) -> RolloutResult:
    """Run everything, or as much as the budget allows. What finished is kept, whatever happens.

    A skill that changes no score ends the run after the first checks, unless `keep_going`.
    """
    folder.check_place(prepared.job.skill, prepared.compiled.skill.name)
    load_code(prepared.agent, prepared.verifier)
    expected = prepared.forecast.expected.rollouts
    listener = CostListener(listener, prepared.job.settings, expected)
    listener(RunStarted(run=folder.path.name, chains=len(prepared.plans), expected_rollouts=expected))
    if fresh:
        folder.start_fresh()
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(folder.ledger))
        folder.begin(manifest(prepared), prepared.compiled.skill)
        engine = await stack.enter_async_context(make_engine(prepared.job, prepared.agent, prepared.verifier, listener))
        signals = await stack.enter_async_context(anyio.create_task_group())
        signals.start_soon(stop_on_signals, stop)
        options = runner_options(prepared.job.settings, folder.run_id)
        render = make_renderer(prepared.compiled, prepared.job.settings).render
        tasks = {task.id: task for task in prepared.panel_a.tasks}
        runner = Runner(engine, ledger, render, tasks, prepared.agent.fingerprint, options, listener, stop=stop)
        rolled = await _Spending(prepared, runner, folder, listener, keep_going=keep_going).all()
        folder.keep_notes(rolled.notes)
        signals.cancel_scope.cancel()
    listener(RunFinished(reason="done" if rolled.trouble is None else rolled.trouble.what))
    return rolled


def runner_options(settings: Settings, run: str) -> RunnerOptions:
    """The runner's part of the settings."""
    limits = budget(
        rollouts=settings.max_rollouts,
        tokens=settings.max_tokens,
        usd=settings.budget_usd,
        seconds=settings.max_seconds,
    )
    return RunnerOptions(
        jobs=settings.jobs,
        attempts=settings.attempts,
        timeout=settings.timeout,
        per_minute=settings.max_per_minute,
        max_missing=settings.max_missing,
        seed=settings.seed,
        run=run,
        budget=limits,
        needs_cost=needs_cost(settings),
        score_cut=settings.cut_answers == "score",
    )


@dataclass(slots=True)
class _Spending:
    """One session of rollouts: gathers what comes back, so that an end before the end loses nothing."""

    prepared: PreparedRun
    runner: Runner
    folder: RunFolder
    listener: Listener
    keep_going: bool = False
    further_checked: int = 0
    notes: list[str] = field(default_factory=list)
    records: dict[int, ChainRecord] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()

    async def all(self) -> RolloutResult:
        """Checks first, then the method's rollouts."""
        trouble: SkillSVError | None = None
        try:
            await self.check_activation()
            if self.prepared.job.settings.method == "chain":
                await self.run_chains()
            else:
                await self.run_adaptive()
        except (BudgetReached, Interrupted, Unavailable) as early:
            trouble = early
        return RolloutResult(
            records=tuple(self.records[index] for index in sorted(self.records)),
            observations=self.observations,
            spending=replace(self.runner.spending, forecast=self.prepared.forecast.expected.rollouts),
            usage=self.runner.usage,
            notes=tuple(self.notes),
            trouble=trouble,
        )

    def note(self, sentence: str | None) -> None:
        """Say it now, and again beside the answer."""
        if sentence:
            self.notes.append(sentence)
            self.listener(Note(message=sentence))

    async def check_activation(self) -> None:
        """Does the skill change anything? If not, ends the run before the budget is spent, or says so."""
        everything = self.prepared.compiled.everything
        same = self.runner.tree(frozenset(), Operator.DELETE) == self.runner.tree(everything, Operator.DELETE)
        window, further = self.prepared.first_window, further_tasks(self.prepared)
        check = check_activation(window, everything, same_tree=same, further=further)
        (activation,) = await self.runner.run_policies([check])
        self.further_checked = len(activation.full) - len(window)
        if not self.keep_going:
            require_difference(activation, (*window, *further), self.prepared, self.runner)
        self.note(activation.sentence())

    async def run_chains(self) -> None:
        """The paper's Algorithm 1 along every planned order."""
        plans = await self.plans_for_this_agent()
        trigger, speculate = self.prepared.compiled.trigger, self.prepared.job.settings.speculate
        walks = (chain_policy(plan, trigger, speculate=speculate, tree_of=self.runner.tree) for plan in plans)
        await self.runner.run_policies(walks, on_result=self.keep_chain)

    async def plans_for_this_agent(self) -> Sequence[ChainPlan]:
        """An agent that does not repeat itself gets fresh replicates in every chain."""
        check = check_noise(self.prepared.first_window[:NOISE_TASKS], self.prepared.compiled.everything)
        (noise,) = await self.runner.run_policies([check])
        self.note(noise.sentence())
        return with_replicates(self.prepared.plans, noise)

    def keep_chain(self, _: int, record: ChainRecord) -> None:
        """A finished chain."""
        self.records[record.plan.index] = record
        self.folder.append(record)

    async def run_adaptive(self) -> None:
        """The adaptive policy; where no limit was given, a noisy agent gets a larger budget once it is known as one."""
        # The check of the activation was paid for, too: with it the run stays within what was agreed. Of further tasks
        # only the bare agent counts: the full skill on every task is what the policy asks for first.
        checked = 2 * len(self.prepared.first_window) + self.further_checked
        usual, most = (
            cost.rollouts - checked for cost in (self.prepared.forecast.expected, self.prepared.forecast.high)
        )
        record = await self.walk_adaptively(max(usual, 1))
        if record.noisy and most > usual:
            # The path does not depend on the budget: what was run is answered by the ledger.
            record = await self.walk_adaptively(most)
        self.say_how_it_ended(record)

    def say_how_it_ended(self, record: AdaptiveRecord) -> None:
        """What kind of agent it was, and whether the limit cut it short."""
        kind = "noisy: values come from a model of its answers" if record.noisy else "deterministic"
        self.note(
            f"The agent is {kind} ({record.reverts} of {record.checks} checks reverted). Ended by: {record.ended}."
        )
        settings, tasks = self.prepared.job.settings, len(self.prepared.panel_a.tasks)
        least = least_budget(tasks, noisy=record.noisy, operators=len(settings.operators))
        limit = settings.max_rollouts
        if limit is not None and limit < least and record.ended != FINISHED:
            raise BudgetReached(
                f"the budget of {limit:,} rollouts is used up, and such an agent needs {least:,} for a whole answer.",
                hint="The partial result is kept; raise the limit to go on from here.",
            )

    async def walk_adaptively(self, most: int) -> AdaptiveRecord:
        """One walk to its end, keeping every answer."""
        problem = AdaptiveProblem(
            units=self.prepared.compiled.execution,
            trigger=self.prepared.compiled.trigger,
            needs=self.prepared.compiled.needs,
            tasks=tuple(task.id for task in self.prepared.panel_a.tasks),
            sample_order=Sampler(self.prepared.compiled).sample,
            operators=self.prepared.job.settings.operators,
        )
        self.observations = ()
        options = AdaptiveOptions(stop=self.stop_rule(most), judge=self.judge())
        policy = adaptive_policy(problem, options, self.prepared.job.settings.seed, on_observed=self.keep_observations)
        (record,) = await self.runner.run_policies([policy])
        return record

    def stop_rule(self, most: int) -> StopRule:
        """The budget, or whatever was asked for if that comes first."""
        settings = self.prepared.job.settings
        rule: StopRule = Budget(most)
        if settings.until_width is not None:
            rule = Budget(most) | UntilWidth(settings.until_width)
        if settings.until_resolved is not None:
            rule = UntilResolved(settings.until_resolved) | rule
        return rule

    def judge(self) -> Any:
        """How the values stand, from what is known: sends rollouts to units whose verdict is open."""
        compiled, settings = self.prepared.compiled, self.prepared.job.settings
        orders, options = averaging_orders(compiled, settings), estimate_options(compiled, settings)

        def standing(observations: Sequence[Observation]) -> EstimateStatus:
            valued = value_all(compiled, observations, orders, options)
            units = assemble(compiled, valued, options).units
            return EstimateStatus(
                width=max(unit.net.high - unit.net.low for unit in units),
                resolved=sum(unit.evidence is not Evidence.UNRESOLVED for unit in units) / len(units),
                tasks=valued.open_tasks,
            )

        return standing

    def keep_observations(self, observations: Sequence[Observation]) -> None:
        """The answers of one round."""
        self.observations += tuple(observations)
        self.folder.append(*observations)


def manifest(prepared: PreparedRun) -> Mapping[str, Any]:
    """What makes this run this run: the same one resumes, another starts anew and still reuses the ledger."""
    skill = prepared.compiled.skill
    table = settings_dict(prepared.job.settings)
    identity = identity_settings(table)
    return {
        "schema": "skillsv.run/1",
        "skill": {"name": skill.name, "main": skill.main, "single_file": skill.single_file},
        "digest": prepared.compiled.digest,
        "agent": {"spec": prepared.job.agent, "fingerprint": prepared.agent.fingerprint},
        "settings": identity,
        "panel_a": {task.id: task.digest for task in prepared.panel_a.tasks},
        "panel_b": {task.id: task.digest for task in prepared.panel_b.tasks},
        "version": __version__,
        "about": {
            "skill": str(prepared.job.skill.absolute()),
            "tasks": str(prepared.job.tasks.absolute()),
            "folder": str(prepared.job.folder.absolute()),
            "kit": prepared.job.task_source.name,
            "variant": prepared.job.task_source.variant,
            "forecast": prepared.forecast.expected.rollouts,
            "settings": {name: value for name, value in table.items() if name not in identity},
        },
    }
