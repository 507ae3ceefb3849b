"""The sessions of a shrink: what each used counts against the limits of the next."""

from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import anyio
import numpy as np

from skillsv.model.rollout import Usage
from skillsv.pipeline import shrink_proof
from skillsv.pipeline.deletion_trials import DeletionTrials
from skillsv.pipeline.shrink_proof import ProofSession
from skillsv.settings import Settings


@dataclass(frozen=True)
class Job:
    settings: Settings


class IdleRunner:
    usage = Usage(input_tokens=7)

    async def run_policies(self, policies):
        for policy in policies:
            policy.close()
        return [None]


def test_every_session_counts_what_it_used(monkeypatch):
    @asynccontextmanager
    async def open_idle(session, listener, stop):
        yield IdleRunner()

    monkeypatch.setattr(shrink_proof, "open_runner", open_idle)
    used = []
    session = ProofSession(
        prepared=SimpleNamespace(
            job=Job(Settings()), agent=None, verifier=None, renderer=None, panel_a=SimpleNamespace(tasks=())
        ),
        folder=SimpleNamespace(run_id="run"),
        held_out=(),
        settings=lambda rollouts: Settings(max_rollouts=rollouts),
        count_usage=used.append,
        listener=None,
        stop=None,
    )
    trials = DeletionTrials(everything=frozenset({"m", "a"}), groups={"a": frozenset({"a"})}, order=("a",))
    for _ in range(2):
        anyio.run(session.run_trials, trials, (), 10, np.random.default_rng(1))
    assert used == [IdleRunner.usage] * 2
