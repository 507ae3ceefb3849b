"""The sessions of a shrink: what each used counts against the limits of the next."""

from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import anyio
import numpy as np

from skillsv.model.rollout import Usage
from skillsv.model.value import Spending
from skillsv.pipeline import shrink_proof
from skillsv.pipeline.deletion_trials import DeletionTrials
from skillsv.pipeline.proof_sizes import ProofSizes
from skillsv.pipeline.shrink_proof import ProofSession
from skillsv.pipeline.shrink_spending import ShrinkSpending, SpentRollouts
from skillsv.rollout import RunFolder
from skillsv.settings import Settings


@dataclass(frozen=True)
class Job:
    settings: Settings


class IdleRunner:
    usage = Usage(input_tokens=7)
    attempts = 3
    spending = Spending(spent=2, reused=0, failed=0)

    async def run_policies(self, policies):
        for policy in policies:
            policy.close()
        return [None]


def test_every_session_counts_what_it_used(monkeypatch, tmp_path):
    @asynccontextmanager
    async def open_idle(session, listener, stop):
        yield IdleRunner()

    monkeypatch.setattr(shrink_proof, "open_runner", open_idle)
    spent = ShrinkSpending(rollouts=SpentRollouts(limit=10), started=0.0)
    session = ProofSession(
        prepared=SimpleNamespace(
            job=Job(Settings()), agent=None, verifier=None, renderer=None, panel_a=SimpleNamespace(tasks=())
        ),
        folder=RunFolder(tmp_path),
        held_out=(),
        settings=Settings(max_rollouts=10),
        spent=spent,
        sizes=ProofSizes(folder=RunFolder(tmp_path), identity="shrink"),
        listener=None,
        stop=None,
    )
    trials = DeletionTrials(everything=frozenset({"m", "a"}), groups={"a": frozenset({"a"})}, order=("a",))

    async def run_twice():
        for _ in range(2):
            await session.run_trials(trials, (), 10, np.random.default_rng(1))

    anyio.run(run_twice)
    assert spent.usage == IdleRunner.usage + IdleRunner.usage
    assert (spent.rollouts.attempts, spent.rollouts.retries, spent.rollouts.left) == (6, 2, 4)
