"""What a published benchmark brings: tasks, a prompt protocol around any agent, a verifier, agents without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillsv.agents import AgentOptions
from skillsv.model.coalition import Operator
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.task import Task

WHOLE = "all"
"""The name of the split that is everything in the data folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where tasks are read from: the data in upstream's layout, a split, and the folder of the released manifests.

    `splits` None looks for manifests in the data folder and beside it.
    """

    data: Path
    split: str = WHOLE
    splits: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A task that cannot be scored by the benchmark's own rules, and why."""

    id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The tasks of a split, those that were left out, and what differs from the paper."""

    tasks: tuple[Task, ...]
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """The paper's setting: tasks by split, sizes of panels A and B, turns of one rollout, operators."""

    tasks: Mapping[str, int]
    panel_a: int
    panel_b: int
    turns: int
    operators: tuple[Operator, ...] = (Operator.DELETE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One row of the table of benchmarks.

    `load` reads tasks, complete with digests, and raises TaskError with one sentence where data are missing.
    `around` puts the benchmark's protocol around an agent that the user names (`model:...`, `python:...`).
    `known` are agents that need no model: `reference` passes every task, `noop` should pass none, `rules` is
    competent by the rules that it finds in the skill. What only the verifier may know, such as the path of a gold file,
    stands in a task's `target`, which can be hidden from agents, and nowhere else.
    """

    name: str
    title: str
    comes_from: str
    paper: Paper
    load: Callable[[Source], Loaded]
    around: Callable[[str, AgentOptions], Agent]
    verifier: Callable[[], Verifier]
    known: Mapping[str, Callable[[], Agent]]

    def make_agent(self, spec: str, options: AgentOptions) -> Agent:
        """One of the known agents by its name, or the user's agent inside the protocol."""
        known = self.known.get(spec)
        return known() if known is not None else self.around(spec, options)
