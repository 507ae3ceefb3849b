"""Runs the chains of a valuation wave by wave, and looks for noise before the first wave and after each one.

What happens to finished chains when noise is found late: they are kept. Each of them is by itself an honest sample of
the agent; only the answers that they share make them dependent. The estimator knows these answers by task and
replicate and adds the variance that sharing causes (`estimate.shared_noise`), so the intervals stay right. To run them
again would cost as much as they did, and noise that the first repeats missed is rare, so little would be gained. Chains
that have not begun get replicate numbers of their own, and a note names the chains that share answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from skillsv.model.coalition import ChainPlan, ChainRecord
from skillsv.model.format import plural
from skillsv.model.rollout import Request
from skillsv.rollout import Policy, Runner, check_noise
from skillsv.rollout.chain_repeats import (
    ANCHOR_ROLLOUTS,
    anchors_to_repeat,
    prefixes_to_repeat,
    rollouts_to_repeat,
    waves,
    with_replicates,
)
from skillsv.rollout.noise_check import Noise


@dataclass(slots=True, kw_only=True)
class ChainWaves:
    """The chains of one session. `stored` are the replicate numbers of finished chains; `note` gets the finding."""

    runner: Runner
    plans: Sequence[ChainPlan]
    seed: int
    stored: Mapping[int, int]
    make_policy: Callable[[ChainPlan], Policy[ChainRecord]]
    keep_chain: Callable[[int, ChainRecord], None]
    note: Callable[[str], None]
    noise: Noise = field(default_factory=Noise)
    begun: dict[int, int] = field(default_factory=dict)

    async def run(self) -> None:
        """Run the checks and all chains. Note the finding when noise is found, else at the end or at an early end."""
        try:
            await self._repeat(anchors_to_repeat(self.plans[0]), rollouts=ANCHOR_ROLLOUTS)
            await self._repeat(prefixes_to_repeat(self.plans, self.seed))
            for wave in waves(self.plans):
                await self._run_wave(wave)
        finally:
            if self.noise.deterministic:
                self.note(self.sentence())

    async def _run_wave(self, wave: Sequence[ChainPlan]) -> None:
        plans = with_replicates(wave, self.noise, self.stored)
        self.begun.update((plan.index, plan.replicate) for plan in plans)
        records = await self.runner.run_policies(map(self.make_policy, plans), on_result=self.keep_chain)
        if self.noise.deterministic:
            requests = [request for record in records for request in rollouts_to_repeat(record, self.seed)]
            await self._repeat(requests)

    async def _repeat(self, requests: Sequence[Request], *, rollouts: int = 2) -> None:
        """Repeat these rollouts, unless the agent is known to be noisy already."""
        if not self.noise.deterministic:
            return
        (noise,) = await self.runner.run_policies([check_noise(requests, rollouts=rollouts)])
        self.noise = self.noise.join(noise)
        if not self.noise.deterministic:
            self.note(self.sentence())

    def sentence(self) -> str:
        """What the repeats showed, and which chains share answers."""
        finding = self.noise.finding()
        if self.noise.deterministic:
            return f"{finding} The agent is taken to be deterministic, and chains share answers."
        if not (sharing := self._sharing()):
            return f"{finding} The agent is noisy, so every chain runs its own replicates."
        rest = " The other chains run their own replicates." if sharing < len(self.plans) else ""
        return (
            f"{finding} The agent is noisy. {plural(sharing, 'chain')} had been run before this was known and share "
            f"answers; the intervals allow for it.{rest}"
        )

    def _sharing(self) -> int:
        """The number of begun chains that have a replicate number in common with another one."""
        begun = {**self.stored, **self.begun}
        numbers = [begun[plan.index] for plan in self.plans if plan.index in begun]
        return sum(times for times in Counter(numbers).values() if times > 1)
