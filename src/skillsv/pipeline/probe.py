"""What one rollout takes, measured on a few rollouts. They are paid for, and the run that follows reuses them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from skillsv.model.events import Event, RolloutFinished
from skillsv.model.rollout import Usage
from skillsv.pipeline.job import PreparedRun
from skillsv.pipeline.session import open_runner, session_of
from skillsv.rollout import PerRollout, RunFolder, check_activation
from skillsv.sandbox.user_function import load_code

PROBE_TASKS = 2
"""Tasks of a probe: enough for an average, two rollouts each."""


async def probe(prepared: PreparedRun, folder: RunFolder) -> PerRollout:
    """Run the bare agent and the whole skill on two tasks, and return what one rollout took on average."""
    folder.check_place(prepared.job.skill, prepared.compiled.skill.name)
    load_code(prepared.agent, prepared.verifier)
    meter = _Meter()
    session = session_of(prepared, folder)
    # A probe has an end of its own, and finds out whether the agent reports its cost.
    session = replace(session, options=replace(session.options, needs_cost=False))
    async with open_runner(session, meter) as runner:
        tasks = prepared.first_window[:PROBE_TASKS]
        await runner.run_policies([check_activation(tasks, prepared.compiled.everything)])
    return meter.average()


@dataclass(slots=True)
class _Meter:
    """Collects the events of finished rollouts."""

    finished: list[RolloutFinished] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, RolloutFinished):
            self.finished.append(event)

    def average(self) -> PerRollout:
        """Per rollout; what no rollout reported stays unknown."""
        usage = sum((event.usage for event in self.finished), Usage())
        return PerRollout.measured(len(self.finished), usage, sum(event.duration for event in self.finished))
