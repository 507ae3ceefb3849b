"""What each unit of a skill is worth to each of several agents, and the smallest skill that serves all of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from skillsv.api.inputs import Inputs
from skillsv.api.matrix_agents import AgentResults, run_at_once, run_in_turn
from skillsv.api.matrix_plan import AgentInputs, MatrixPlan, make_matrix_plan
from skillsv.api.run import Progress, Run, listener_of
from skillsv.api.run_place import TemporaryFolder
from skillsv.api.shorten import Proof, confirm
from skillsv.api.skill import Skill
from skillsv.api.sync import run_sync
from skillsv.confirmation.gate import DEFAULT_MAX_DROP
from skillsv.errors import BudgetReached, Interrupted, SkillSVError
from skillsv.model.events import Note
from skillsv.model.matrix_document import MatrixDocument
from skillsv.model.protocols import Listener, Verifier
from skillsv.model.task import Task
from skillsv.model.value import UnitTable
from skillsv.pipeline.build_valuation import skill_summary
from skillsv.pipeline.matrix import AgentRun, build_matrix, empty_matrix, shorter_rendering
from skillsv.rollout import RunFolder, Stop, stop_on_signals
from skillsv.settings import share_of_points

MATRIX_JSON, MATRIX_PAGE = "matrix.json", "matrix.html"
"""The files of the answer in the folder of a matrix."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix(UnitTable):
    r"""Units by agents: what each unit is worth to each agent. `matrix` makes one; a notebook shows it as a table.

    >>> import skillsv as sv
    >>> def small(skill, task):
    ...     return task.input if skill and task.input in skill.text else "?"
    >>> def large(skill, task):
    ...     return "?" if skill and "grey" in skill.text else task.input
    >>> found = sv.matrix("# Colours\n\n- red\n- grey\n", agents=[small, large], panel_b=0, max_rollouts=400,
    ...     tasks=[{"input": colour, "target": colour} for colour in ("red", "grey") * 8])
    >>> [(unit["text"].strip(), unit["pattern"]) for unit in found.document["units"]]
    [('- red', 'helps some'), ('- grey', 'disagree')]

    `runs` holds the run of each agent that has values, by name; `error` is the gravest of what ended agents early, if
    anything did.
    """

    document: MatrixDocument = field(repr=False)
    runs: Mapping[str, Run] = field(repr=False)
    folder: Path
    error: SkillSVError | None = None
    temporary: TemporaryFolder | None = field(default=None, repr=False)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of all agents."""
        return tuple(agent["name"] for agent in self.document["agents"])

    @property
    def disagreements(self) -> tuple[str, ...]:
        """The ids of the units for which a difference between two agents is shown."""
        return tuple(unit["id"] for unit in self.document["units"] if unit["disagree"])

    @property
    def removed(self) -> tuple[str, ...]:
        """The units that the smallest skill for all agents leaves out. It is predicted, not proved."""
        return tuple(self.document["shared"]["removed"])

    @property
    def skill(self) -> Skill:
        """The skill that was valued."""
        return next(iter(self.runs.values())).skill

    def rows(self) -> list[dict[str, object]]:
        """One flat row per unit: the value and its bounds for each agent, and what they show together."""
        from skillsv.report.matrix_text import matrix_rows

        return matrix_rows(self.document)

    def to_dict(self) -> MatrixDocument:
        """The JSON `skillsv.matrix/1`."""
        return self.document

    def to_csv(self) -> str:
        """One line per unit, amounts of score in points of a hundred."""
        from skillsv.report.matrix_text import matrix_csv

        return matrix_csv(self.document)

    def lines(self) -> list[str]:
        """What was found, in sentences."""
        from skillsv.report.matrix_text import matrix_lines

        return matrix_lines(self.document)

    def page(self) -> str:
        """The page with the heat map as HTML text."""
        from skillsv.report.matrix_html import matrix_page

        return matrix_page(self.document, self.skill.compiled)

    def write(self, folder: str | os.PathLike[str], *, agent: str | None = None, force: bool = False) -> Path:
        """Write the smallest skill for all agents, or for one of them, to a new folder. It is not proved."""
        from skillsv.rendering.output import new_folder
        from skillsv.sandbox.workspace import write_tree

        run = next(iter(self.runs.values()))
        chosen = self.document["shared"]
        if agent is not None:
            chosen = next(skill for skill in self.document["for_each"] if skill["agents"] == [agent])
        with new_folder(Path(folder), skill=run.skill.path, force=force) as new:
            write_tree(shorter_rendering(run.stored, chosen), new)
        return Path(folder)

    def confirm(
        self,
        *,
        max_drop: float = 100 * DEFAULT_MAX_DROP,
        level: float = 95,
        max_rollouts: int | None = None,
        yes: bool = False,
        progress: Progress = False,
    ) -> dict[str, Proof]:
        """Prove the smallest skill for all agents on held-out tasks, for each of them.

        `max_rollouts` is for all proofs together. The skill is no worse for all agents only where every proof is `met`;
        that claim needs no correction of the level.
        """
        share = None if max_rollouts is None else max(max_rollouts // len(self.runs), 1)
        with TemporaryDirectory(prefix="skillsv-") as folder:
            shorter = self.write(Path(folder) / self.skill.name)
            return {
                name: confirm(
                    run, shorter, max_drop=max_drop, level=level, max_rollouts=share, yes=yes, progress=progress
                )
                for name, run in self.runs.items()
            }

    def __repr__(self) -> str:
        return f"<Matrix of {self.skill.name}: {len(self.document['units'])} units, {len(self.agents)} agents>"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def matrix(
    skill: Skill | str | os.PathLike[str],
    *,
    tasks: str | os.PathLike[str] | Iterable[Task | object] | None = None,
    agents: AgentInputs | None = None,
    verifier: str | Verifier | Callable[..., object] | None = None,
    version: str = "",
    max_drop: float = 100 * DEFAULT_MAX_DROP,
    run_dir: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    yes: bool = False,
    fresh: bool = False,
    keep_going: bool = False,
    **settings: object,
) -> Matrix:
    r"""Value every unit of a skill with each of several agents, on the same tasks and from one budget.

    >>> import skillsv as sv
    >>> def reader(skill, task):
    ...     return task.input if skill and task.input in skill.text else "?"
    >>> def painter(skill, task):
    ...     return "red" if task.input == "red" else reader(skill, task)
    >>> found = sv.matrix("# Colours\n\n- red\n- grey\n", panel_b=0, max_rollouts=400, agents=[reader, painter],
    ...     tasks=[{"input": colour, "target": colour} for colour in ("red", "grey") * 8])
    >>> [(unit["text"].strip(), unit["pattern"], unit["disagree"]) for unit in found.document["units"]]
    [('- red', 'helps some', True), ('- grey', 'helps all', False)]

    `agents` is a list, or a dict by name; each agent is what `value` takes. Without it, a file of settings lists them.
    A limit such as `max_rollouts` holds for all agents together: each gets the same share of what is left when its turn
    comes. With `at_once=True` the agents run at the same time, and none begins with what another showed. `max_drop` is
    the loss in points that the shorter skills are predicted to stay below. An agent that fails, or that the skill makes
    no difference to, has no values, and the others go on. All other arguments are those of `value`.
    """
    plan = make_matrix_plan(
        skill,
        Inputs(tasks=tasks, verifier=verifier, version=version),
        agents,
        settings,
        max_drop=share_of_points(max_drop, "max_drop"),
        run_dir=None if run_dir is None else Path(run_dir),
        fresh=fresh,
    )
    plan.require_consent(yes=yes)

    async def work(stop: Stop) -> Matrix:
        with listener_of(progress) as listener:
            for line in (*plan.notes, *plan.lines()):
                listener(Note(message=line))
            return await run_matrix_plan(plan, listener, stop, fresh=fresh, keep_going=keep_going)

    return run_sync(work)


async def run_matrix_plan(
    plan: MatrixPlan, listener: Listener, stop: Stop | None, *, fresh: bool = False, keep_going: bool = False
) -> Matrix:
    """Value the skill with all agents, and write JSON and page into the folder of the matrix."""
    if fresh:
        RunFolder(plan.folder).start_fresh()
    run_agents = run_at_once if plan.settings.at_once else run_in_turn
    with stop_on_signals(stop):
        return _finish(plan, await run_agents(plan, listener, stop, keep_going=keep_going))


def _finish(plan: MatrixPlan, results: AgentResults) -> Matrix:
    """Build the matrix from what the agents ended with, and write its files."""
    runs = {name: result for name, result in results.items() if isinstance(result, Run)}
    columns = [_column(plan, name, result) for name, result in results.items()]
    ended = [result.error if isinstance(result, Run) else result for result in results.values()]
    errors = [error for error in ended if error is not None]
    if not runs:
        raise _without_values(plan, columns, errors)
    document = build_matrix(columns, max_drop=plan.max_drop)
    found = Matrix(
        document=document,
        runs=runs,
        folder=plan.folder,
        error=gravest(errors),
        temporary=plan.temporary,
    )
    place = RunFolder(plan.folder)
    place.write(MATRIX_JSON, json.dumps(document, indent=2).encode())
    place.write(MATRIX_PAGE, found.page().encode("utf-8", errors="replace"))
    return found


def gravest(errors: Sequence[SkillSVError]) -> SkillSVError | None:
    """The error that says most about the whole matrix: an interruption, then a failure, then a limit."""
    return max(errors, key=_gravity, default=None)


def _gravity(error: SkillSVError) -> int:
    return 2 if isinstance(error, Interrupted) else 0 if isinstance(error, BudgetReached) else 1


def _without_values(plan: MatrixPlan, columns: list[AgentRun], errors: list[SkillSVError]) -> SkillSVError:
    """The error of a matrix without any values: the gravest, in whose words every agent is named."""
    error = max(errors, key=_gravity)
    parts = [f"{column.name}: {one.what}" for column, one in zip(columns, errors, strict=True)]
    error.what = " ".join(parts)
    prepared, _ = next(iter(plan.plans.values())).runnable_parts()
    summary = skill_summary(prepared.compiled, prepared.renderer)
    error.document = empty_matrix(columns, prepared, summary, max_drop=plan.max_drop)
    return error


def _column(plan: MatrixPlan, name: str, result: Run | SkillSVError) -> AgentRun:
    prepared, folder = plan.plans[name].runnable_parts()
    run = result if isinstance(result, Run) else None
    error = result.error if isinstance(result, Run) else result
    return AgentRun(
        name=name,
        spec=prepared.job.agent,
        folder=str(folder.path),
        run=None if run is None else run.stored,
        error=None if error is None else str(error),
    )
