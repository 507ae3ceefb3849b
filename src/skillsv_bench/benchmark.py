"""The description of a published benchmark, and the parts that all benchmarks share.

A benchmark has tasks, a verifier, a prompt protocol for any agent, and agents that need no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from skillsv.extend.task_sources import AgentOptions, digest_files
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.protocols import Agent, Verifier
from skillsv.model.rollout import Outcome, Usage
from skillsv.model.task import Task
from skillsv_bench.second_metric import SecondMetric

ALL_TASKS = "all"
"""The name of the split that contains every task in the data folder."""

CompetencePatterns = Mapping[str, re.Pattern[str]]
"""The name of each competence, and the pattern of the words in a skill that teach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where tasks are read from: the data in upstream's layout, a split, and the folder of the released manifests.

    With `splits` None, manifests are looked up in the data folder and beside it.
    """

    data: Path
    split: str = ALL_TASKS
    splits: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedTask:
    """A task that cannot be scored by the benchmark's own rules, and the reason."""

    id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTasks:
    """The tasks of a split, the tasks that were rejected, and notes on differences from the paper."""

    tasks: tuple[Task, ...]
    rejected: tuple[RejectedTask, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperSetting:
    """The paper's setting: tasks by split, sizes of panels A and B, turns of one rollout, operators."""

    tasks: Mapping[str, int]
    panel_a: int
    panel_b: int
    turns: int
    operators: tuple[Operator, ...] = (Operator.DELETE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One published benchmark.

    `data_origin` tells a user where to get the data.
    `load` reads tasks, complete with digests, and raises TaskError with one sentence where data are missing.
    `wrap_agent` runs an agent that the user names (`model:...`, `python:...`) inside the benchmark's protocol.
    `builtin_agents` need no model: `reference` passes every task, `noop` should pass none, `rules` has the competences
    that it finds in the skill. Data for the verifier alone, such as the path of a gold file, belong in a task's
    `target`, which can be hidden from agents, and nowhere else.
    `manifests` is the folder of the released manifests. `second_metric` is reported beside the score.
    """

    name: str
    title: str
    data_origin: str
    paper: PaperSetting
    load: Callable[[Source], LoadedTasks]
    wrap_agent: Callable[[str, AgentOptions], Agent]
    verifier: Callable[[], Verifier]
    builtin_agents: Mapping[str, Callable[[], Agent]]
    manifests: str
    second_metric: SecondMetric | None = None

    def make_agent(self, spec: str, options: AgentOptions) -> Agent:
        """Make one of the built-in agents by its name, or the user's agent inside the protocol."""
        make_builtin = self.builtin_agents.get(spec)
        agent = make_builtin() if make_builtin is not None else self.wrap_agent(spec, options)
        return agent if self.second_metric is None else self.second_metric.wrap(agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAgent:
    """Answers with `answer(text of the skill, task)`; the text is empty for the bare agent.

    `fingerprint` is its name and version: raise the version when the function changes. `reads` says whether the
    function uses the skill.
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


def compile_patterns(expressions: Mapping[str, str]) -> CompetencePatterns:
    """Compile one regular expression for each competence; upper and lower case are the same."""
    return {name: re.compile(expression, re.IGNORECASE) for name, expression in expressions.items()}


def find_competences(patterns: CompetencePatterns, text: str) -> frozenset[str]:
    """Find the competences that a text teaches."""
    return frozenset(name for name, pattern in patterns.items() if pattern.search(text))


def add_digest(task: Task, *, verifier: str, gold: Sequence[Path] = ()) -> Task:
    """Return the task with its digest, which covers all that agent and verifier see but not where the data lie.

    `verifier` is the verifier's name and version. `gold` are files that only the verifier reads: a task that has some
    has a path on this machine as its target, so the digest covers the bytes of the files instead of the path.
    """
    target = None if gold else task.target
    fields = (task.id, task.input, target, task.stratum, sorted(task.files), verifier, dict(task.metadata))
    texts = [msgspec.json.encode(fields, order="sorted").decode()]
    files = [task.files[name] for name in sorted(task.files)]
    return replace(task, verifier=verifier, digest=digest_files(texts, [*files, *gold]))
