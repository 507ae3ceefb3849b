"""The check that ends a run early where the skill changes no score of its first tasks: all values would be zero."""

from __future__ import annotations

from collections.abc import Sequence

from skillsv.errors import NoDifference
from skillsv.model.coalition import Coalition
from skillsv.model.format import plural
from skillsv.pipeline.job import PreparedRun
from skillsv.rollout import Activation, Runner, anchor

LEAST_TASKS = 8
"""Tasks without a difference that end a run, or the whole panel if it is smaller: a few may agree by chance."""

MOST_TASKS = 24
"""Tasks that are checked at most while no score differs."""

EXAMPLES = 2
"""Tasks whose answers the error message shows."""


def further_tasks(prepared: PreparedRun) -> tuple[str, ...]:
    """The tasks of panel A to check after the first window, if no score of the window differs.

    A task takes two rollouts. The least number of tasks must fit into the forecast; more tasks may take a quarter of
    it. Where not even the least number fits there are none: they could not end the run.
    """
    expected, least = prepared.forecast.expected.rollouts, _least_tasks(prepared)
    affordable = 0 if 2 * least > expected else max(least, min(MOST_TASKS, expected // 8))
    window = prepared.first_window
    others = [task.id for task in prepared.panel_a.tasks if task.id not in set(window)]
    return tuple(others[: max(0, affordable - len(window))])


def require_difference(activation: Activation, tasks: Sequence[str], prepared: PreparedRun, runner: Runner) -> None:
    """Raise NoDifference where enough tasks were checked and none scored differently with the skill.

    `tasks` are the ids of the checked tasks, in the order of the activation.
    """
    if not activation.silent or len(activation.pairs) < _least_tasks(prepared):
        return
    openings = describe_openings(tasks[: len(activation.full)], prepared, runner)
    raise NoDifference(
        f"{activation.finding()} {openings}" if openings else activation.finding(),
        hint=f"{activation.advice()} The rollouts are kept; --keep-going values the skill nevertheless.",
        examples=_examples(activation, tasks, prepared, runner),
    )


def describe_openings(tasks: Sequence[str], prepared: PreparedRun, runner: Runner) -> str | None:
    """The sentence about tasks where the agent did not open the full skill; None where it did, or does not say."""
    known = [runner.opened(anchor(prepared.compiled.everything, task)) for task in tasks]
    opened = [value for value in known if value is not None]
    if all(opened):
        return None
    number = sum(opened) or "none"
    return (
        f"The agent opened the skill on {number} of {plural(len(opened), 'task')}. What it does not open cannot help: "
        "the description in the frontmatter decides whether it does."
    )


def _least_tasks(prepared: PreparedRun) -> int:
    return min(LEAST_TASKS, len(prepared.panel_a.tasks))


def _examples(
    activation: Activation, tasks: Sequence[str], prepared: PreparedRun, runner: Runner
) -> list[dict[str, str]]:
    inputs = {task.id: task.input for task in prepared.panel_a.tasks}
    checked = zip(tasks, activation.empty, activation.full, strict=False)
    known = [(task, bare, full) for task, bare, full in checked if bare is not None and full is not None]
    return [
        {
            f"Task {task}": inputs[task],
            f"Answer with the skill (score {full:g})": _answer(runner, prepared.compiled.everything, task),
            f"Answer without the skill (score {bare:g})": _answer(runner, frozenset(), task),
        }
        for task, bare, full in known[:EXAMPLES]
    ]


def _answer(runner: Runner, coalition: Coalition, task: str) -> str:
    detail = runner.detail(anchor(coalition, task))
    return "" if detail is None else detail.answer
