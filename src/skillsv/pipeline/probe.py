"""What one rollout takes, measured on a few: they are paid for, and kept in the ledger for the run that follows."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from skillsv.model.events import Event, RolloutFinished
from skillsv.model.rollout import Usage
from skillsv.pipeline.job import PreparedRun, make_renderer
from skillsv.pipeline.session import make_engine
from skillsv.pipeline.value import manifest, runner_options
from skillsv.rollout import Ledger, PerRollout, RunFolder, Runner, check_activation, run_id
from skillsv.sandbox.user_function import load_code

PROBE_TASKS = 2


@dataclass(slots=True)
class _Meter:
    """Adds up what finished rollouts took."""

    finished: list[RolloutFinished] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, RolloutFinished):
            self.finished.append(event)

    def average(self) -> PerRollout:
        """Per rollout; what no rollout reported stays unknown."""
        usage = sum((event.usage for event in self.finished), Usage())
        return PerRollout.measured(len(self.finished), usage, sum(event.duration for event in self.finished))


async def probe(prepared: PreparedRun, folder: RunFolder) -> PerRollout:
    """Run the bare agent and the whole skill on two tasks, and say what one rollout took."""
    folder.check_place(prepared.job.skill, prepared.compiled.skill.name)
    load_code(prepared.agent, prepared.verifier)
    meter = _Meter()
    async with AsyncExitStack() as stack:
        ledger = stack.enter_context(Ledger.open(folder.ledger))
        engine = await stack.enter_async_context(make_engine(prepared.job, prepared.agent, prepared.verifier, meter))
        # A probe ends by itself, and finds out whether the agent reports its cost.
        options = replace(runner_options(prepared.job.settings, run_id(manifest(prepared))), needs_cost=False)
        render = make_renderer(prepared.compiled, prepared.job.settings).render
        tasks = {task.id: task for task in prepared.panel_a.tasks}
        runner = Runner(engine, ledger, render, tasks, prepared.agent.fingerprint, options, meter)
        chosen = prepared.first_window[:PROBE_TASKS]
        await runner.run_policies([check_activation(chosen, prepared.compiled.everything)])
    return meter.average()
