"""The rollouts of a valuation. The ledger keeps each at once, the records each finished chain or round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from skillsv.errors import BudgetReached, Interrupted, SkillSVError, Unavailable
from skillsv.estimate.adaptive import build_estimate, compute_values
from skillsv.model.coalition import ChainRecord, Observation, Operator, PanelAnchors
from skillsv.model.events import Note, RunFinished, RunStarted, UnitsDecided
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Request
from skillsv.model.value import Evidence
from skillsv.order import Sampler
from skillsv.pipeline.build_valuation import RolloutResult, averaging_orders, early_end_note, estimate_options
from skillsv.pipeline.chain_waves import ChainWaves
from skillsv.pipeline.cost import CostListener
from skillsv.pipeline.job import PreparedRun, make_manifest, strata_of
from skillsv.pipeline.known_rollouts import count_wanted
from skillsv.pipeline.session import SharedSession, open_runner, session_of
from skillsv.pipeline.smoke_gate import describe_openings, further_tasks, require_difference
from skillsv.rollout import (
    RunFolder,
    Runner,
    Stop,
    chain_policy,
    check_activation,
    panel_anchor_policy,
    run_id,
)
from skillsv.rollout.adaptive import (
    FINISHED,
    AdaptiveOptions,
    AdaptiveProblem,
    AdaptiveRecord,
    EstimateStatus,
    MaxRollouts,
    StopRule,
    UntilResolved,
    UntilWidth,
    adaptive_policy,
    choose_live_searches,
    choose_round_size,
    least_budget,
)
from skillsv.rollout.recheck import recheck_policy
from skillsv.rollout.stop_rules import Progress
from skillsv.sandbox.user_function import load_code

RECHECK_STREAM = 2
"""Random stream that chooses the stored rollouts to repeat; streams 0 and 1 draw orders and windows."""


async def run_rollouts(
    prepared: PreparedRun,
    folder: RunFolder,
    listener: Listener,
    stop: Stop | None,
    *,
    fresh: bool = False,
    keep_going: bool = False,
    whole: bool = True,
    shared: SharedSession | None = None,
    earlier: Progress | None = None,
) -> RolloutResult:
    """Run all rollouts of a valuation, or as many as the budget allows. Finished rollouts are kept in any case.

    A skill that changes no score ends the run after the first checks, unless `keep_going`. Without `whole` the
    valuation is a step of a larger job, which checks the activation and judges the budget itself; `earlier` is what
    that job spent before. `shared` is what runs of other agents at the same time share with this one.
    """
    folder.check_place(prepared.job.skill, prepared.compiled.skill.name)
    load_code(prepared.agent, prepared.verifier)
    expected = prepared.forecast.expected.rollouts
    listener = CostListener(listener, prepared.job.settings, expected)
    listener(RunStarted(run=folder.path.name, chains=len(prepared.plans), expected_rollouts=expected))
    if fresh:
        folder.start_fresh()

    def begin() -> None:
        manifest = make_manifest(prepared, rounds=_rounds(prepared, folder))
        if not folder.begin(manifest, prepared.compiled.skill):
            folder.keep_known(prepared.known)
            folder.keep_prior(prepared.prior)
        folder.keep_notes(folder.notes(), provisional=True)

    session = session_of(prepared, folder, earlier)
    async with open_runner(session, listener, stop, on_locked=begin, shared=shared) as runner:
        result = await _Rollouts(prepared, runner, folder, listener, keep_going=keep_going, whole=whole).run()
        folder.keep_notes((*result.notes, *early_end_note(result)), provisional=result.error is not None)
    listener(RunFinished(reason="done" if result.error is None else result.error.what))
    return result


def _rounds(prepared: PreparedRun, folder: RunFolder) -> dict[str, int]:
    """Round size and searches at the same time of an adaptive run: the recorded ones where it goes on.

    An edited skill that takes over answers has none: it pays for few, and finds more with them if it waits for each
    round.
    """
    settings, tasks = prepared.job.settings, len(prepared.panel_a.tasks)
    if folder.run_id == run_id(make_manifest(prepared)):
        rounds = {"round_size": folder.round_size, "live_searches": folder.live_searches}
    elif settings.method == "chain" or prepared.known.coalitions:
        return {}
    else:
        rollouts = prepared.forecast.expected.rollouts // len(settings.operators)
        searches = choose_live_searches(settings.jobs, tasks, rollouts)
        rounds = {"round_size": choose_round_size(settings.jobs), "live_searches": searches}
    return {name: number for name, number in rounds.items() if number is not None}


@dataclass(slots=True)
class _Rollouts:
    """Runs the rollouts of one session and collects their results, so that an early end loses nothing."""

    prepared: PreparedRun
    runner: Runner
    folder: RunFolder
    listener: Listener
    keep_going: bool = False
    whole: bool = True
    further_checked: int = 0
    notes: list[str] = field(default_factory=list)
    records: dict[int, ChainRecord] = field(default_factory=dict)
    panel_anchors: PanelAnchors | None = None
    observations: tuple[Observation, ...] = ()

    async def run(self) -> RolloutResult:
        """Run the checks, then the rollouts of the method."""
        error: SkillSVError | None = None
        try:
            self.check_identity()
            await self.recheck()
            if self.whole:
                await self.check_activation()
            if self.prepared.job.settings.method == "chain":
                await self.run_chains()
            else:
                await self.run_adaptive()
        except (BudgetReached, Interrupted, Unavailable) as raised:
            error = raised
        return RolloutResult(
            records=tuple(self.records[index] for index in sorted(self.records)),
            panel_anchors=self.panel_anchors,
            observations=self.observations,
            spending=replace(self.runner.spending, forecast=self.prepared.forecast.expected.rollouts),
            usage=self.runner.usage,
            notes=tuple(self.notes),
            error=error,
            prior=self.prepared.prior,
            attempts=self.runner.attempts,
        )

    def note(self, sentence: str | None) -> None:
        """Show a sentence now, and keep it for the valuation."""
        if sentence:
            self.notes.append(sentence)
            self.listener(Note(message=sentence))

    def check_identity(self) -> None:
        """Raise SkillSVError unless all operators render the full skill to the same bytes: one score serves them."""
        everything = self.prepared.compiled.everything
        if len({self.runner.tree(everything, operator) for operator in self.prepared.job.settings.operators}) > 1:
            raise SkillSVError("The operators render the full skill to different bytes: this is a bug in skillsv.")

    async def recheck(self) -> None:
        """Repeat stored rollouts if the user asked for it. Raises GateNotMet where they differ too often."""
        number = self.prepared.job.settings.recheck
        if number is None:
            return
        stored = self.runner.stored_scores(self.known_requests())
        chosen = np.random.default_rng([self.prepared.job.settings.seed, RECHECK_STREAM]).permutation(len(stored))
        requests = list(stored)
        sample = {requests[index]: stored[requests[index]] for index in chosen[:number]}
        (result,) = await self.runner.run_policies([recheck_policy(sample, self.runner.name_repeats())])
        if result.refused:
            self.runner.drop_copies()  # a later run must not reuse them without --reuse-unchecked
        result.require_same()
        self.note(result.sentence())

    def known_requests(self) -> list[Request]:
        """Requests that earlier sessions may have answered: the anchors on panel A, and what the records hold."""
        anchors = [
            Request(coalition=coalition, operator=Operator.DELETE, task=task.id)
            for coalition in (frozenset[str](), self.prepared.compiled.everything)
            for task in self.prepared.panel_a.tasks
        ]
        records = self.folder.read_records()
        observed = [
            Request(coalition=item.coalition, operator=item.operator, task=item.task, replicate=item.replicate)
            for item in records.observations
        ]
        prefixes = [
            Request(coalition=frozenset(plan.order[:size]), operator=operator, task=task, replicate=plan.replicate)
            for plan in (record.plan for record in records.chains.values())
            for size in range(1, len(plan.order))
            for operator in plan.operators
            for task in plan.window.tasks
        ]
        return list(dict.fromkeys([*anchors, *observed, *prefixes]))

    async def check_activation(self) -> None:
        """Check whether the skill changes any score. If not, end the run before the budget is spent, or add a note."""
        everything = self.prepared.compiled.everything
        same = self.runner.tree(frozenset(), Operator.DELETE) == self.runner.tree(everything, Operator.DELETE)
        window, further = self.prepared.first_window, further_tasks(self.prepared)
        check = check_activation(window, everything, same_tree=same, further=further)
        (activation,) = await self.runner.run_policies([check])
        self.further_checked = len(activation.full) - len(window)
        if not self.keep_going:
            require_difference(activation, (*window, *further), self.prepared, self.runner)
        self.note(activation.sentence())
        self.note(describe_openings((*window, *further)[: len(activation.full)], self.prepared, self.runner))

    async def run_chains(self) -> None:
        """The paper's Algorithm 1 along every planned order, then the anchors on all tasks of panel A.

        The anchors come last: where the budget ends early, values matter more than the check of their sum.
        """
        trigger, settings = self.prepared.compiled.trigger, self.prepared.job.settings
        chains = ChainWaves(
            runner=self.runner,
            plans=self.prepared.plans,
            seed=settings.seed,
            stored={index: record.plan.replicate for index, record in self.folder.chains().items()},
            make_policy=partial(chain_policy, trigger=trigger, speculate=settings.speculate, tree_of=self.runner.tree),
            keep_chain=self.keep_chain,
            note=self.note,
        )
        await chains.run()
        tasks = tuple(task.id for task in self.prepared.panel_a.tasks)
        anchors = panel_anchor_policy(tasks, trigger, self.prepared.compiled.everything)
        (self.panel_anchors,) = await self.runner.run_policies([anchors])
        self.folder.append(self.panel_anchors)

    def keep_chain(self, _: int, record: ChainRecord) -> None:
        """Store a finished chain."""
        self.records[record.plan.index] = record
        self.folder.append(record)

    async def run_adaptive(self) -> None:
        """Run the adaptive policy. Where no limit was given, an agent that proves noisy gets a larger budget."""
        # The check of the activation was paid for, too: with it the run stays within the agreed budget. Of the further
        # tasks only the bare agent counts: the policy asks for the full skill on every task anyway.
        checked = 2 * len(self.prepared.first_window) + self.further_checked if self.whole else 0
        expected, high = (
            cost.rollouts - checked for cost in (self.prepared.forecast.expected, self.prepared.forecast.high)
        )
        expected, high = (count_wanted(self.prepared, rollouts) for rollouts in (expected, high))
        record = await self.run_adaptive_policy(max(expected, 1))
        if record.noisy and high > expected:
            # The policy asks for the same rollouts whatever the budget, so the ledger answers those that were run.
            record = await self.run_adaptive_policy(high)
        self.note_adaptive_end(record)

    async def run_adaptive_policy(self, rollouts: int) -> AdaptiveRecord:
        """Run the adaptive policy once, with a budget of so many rollouts, and store every answer."""
        problem = AdaptiveProblem(
            units=self.prepared.compiled.execution,
            trigger=self.prepared.compiled.trigger,
            needs=self.prepared.compiled.needs,
            tasks=tuple(task.id for task in self.prepared.panel_a.tasks),
            sample_order=Sampler(self.prepared.compiled).sample,
            operators=self.prepared.job.settings.operators,
            strata=strata_of(self.prepared.panel_a.tasks),
        )
        self.observations = ()
        known = self.prepared.known
        options = AdaptiveOptions(
            stop=self.stop_rule(rollouts),
            round_size=self.folder.round_size,
            live_searches=self.folder.live_searches,
            estimate_status=self.status_function(),
            known=known.coalitions,
            prior=(*known.changes, *self.prepared.prior.coalitions),
            earlier_scores=self.prepared.prior.scores,
            null_anchors=not (known.steady and self.whole),  # a larger job plans with the null changes
        )
        policy = adaptive_policy(problem, options, self.prepared.job.settings.seed, on_observed=self.keep_observations)
        (record,) = await self.runner.run_policies([policy])
        return record

    def note_adaptive_end(self, record: AdaptiveRecord) -> None:
        """Note whether the agent is noisy and what ended the run. Raises BudgetReached if the limit was too small."""
        self.note(f"{record.noise_sentence()} Ended by: {record.ended}.")
        settings, tasks = self.prepared.job.settings, len(self.prepared.panel_a.tasks)
        least = least_budget(tasks, noisy=record.noisy, operators=len(settings.operators))
        limit = settings.max_rollouts
        if self.whole and limit is not None and limit < least and record.ended != FINISHED:
            raise BudgetReached(
                f"the budget of {limit:,} rollouts is used up, and such an agent needs {least:,} for a whole answer.",
                hint="The partial result is kept; raise the limit to go on from here.",
            )

    def stop_rule(self, rollouts: int) -> StopRule:
        """The budget, or the precision that the user asked for, whichever comes first."""
        settings = self.prepared.job.settings
        rule: StopRule = MaxRollouts(rollouts)
        if settings.until_width is not None:
            rule = MaxRollouts(rollouts) | UntilWidth(settings.until_width)
        if settings.until_resolved is not None:
            rule = UntilResolved(settings.until_resolved) | rule
        return rule

    def status_function(self) -> Callable[[Sequence[Observation]], EstimateStatus]:
        """The function that estimates from the answers so far; the policy sends rollouts to units not yet resolved."""
        compiled, settings = self.prepared.compiled, self.prepared.job.settings
        orders = averaging_orders(compiled, settings)
        options = estimate_options(compiled, settings, self.prepared.prior)

        def estimate_status(observations: Sequence[Observation]) -> EstimateStatus:
            values = compute_values(compiled, observations, orders, options)
            units = build_estimate(compiled, values, options).units
            decided = sum(unit.evidence is not Evidence.UNRESOLVED for unit in units)
            self.listener(UnitsDecided(decided=decided, units=len(units)))
            return EstimateStatus(
                width=max(unit.on_panel.high - unit.on_panel.low for unit in units),
                resolved=decided / len(units),
                tasks=values.open_tasks,
            )

        return estimate_status

    def keep_observations(self, observations: Sequence[Observation]) -> None:
        """Store the answers of one round."""
        self.observations += tuple(observations)
        self.folder.append(*observations)
