"""What a published benchmark brings: tasks, a prompt protocol around any agent, a verifier, agents without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from skillsv.agents import AgentOptions
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox.sources import digest_files

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


# Agents of a benchmark that are a function of the skill and the task: references, no-ops, followers of rules.


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """Answers with `answer(text of the skill, task)`; the text is empty for the bare agent.

    `fingerprint` is its name and version: raise the version when the function changes. `reads` says whether it looks
    at the skill.
    """

    fingerprint: str
    answer: Callable[[str, Task], str]
    reads: bool = False

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one task."""
        del replicate, workspace
        text = skill.text if skill is not None else ""
        usage = Usage(input_tokens=0, output_tokens=0, usd=0.0)
        return Outcome(answer=self.answer(text, task), usage=usage, opened=self.reads and bool(text))


# What an agent that follows rules can learn, and the words by which it recognises each lesson in a skill.

Lessons = Mapping[str, re.Pattern[str]]
"""Name of a competence to the words that teach it."""


def lessons(words: Mapping[str, str]) -> Lessons:
    """Lessons from regular expressions; upper and lower case are the same."""
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in words.items()}


def learned(table: Lessons, text: str) -> frozenset[str]:
    """The competences that a text teaches."""
    return frozenset(name for name, words in table.items() if words.search(text))


# The last touch to a benchmark's task: its digest.


def finished(task: Task, *, rules: str, gold: Sequence[Path] = ()) -> Task:
    """The task with its digest: all that agent and verifier see, wherever the data lie.

    `rules` names the verifier and its version. `gold` are files that only the verifier reads: where a task has some,
    its target is a path on this machine, and their bytes count instead.
    """
    target = None if gold else task.target
    fields = (task.id, task.input, target, task.stratum, sorted(task.files), rules, dict(task.metadata))
    words = [msgspec.json.encode(fields, order="sorted").decode()]
    files = [task.files[name] for name in sorted(task.files)]
    return replace(task, verifier=rules, digest=digest_files(words, [*files, *gold]))
