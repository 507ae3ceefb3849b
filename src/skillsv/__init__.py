"""What each line of an agent skill is worth.

    import skillsv as sv

    skill = sv.compile("my-skill")
    run = sv.value(skill, tasks="tasks.jsonl", agent="command:./agent.sh", max_rollouts=500)
    print(run.valuation)
    short = sv.prune(run)
    proof = sv.confirm(run, short, max_drop=2, max_rollouts=500)

The names in `__all__` are public. Everything else may move.
"""

from __future__ import annotations

from skillsv.version import __version__ as __version__

TYPE_CHECKING = False
"""True for type checkers, which know this name. Importing it from `typing` takes more time than all else here."""

if TYPE_CHECKING:
    from skillsv import errors as errors
    from skillsv.api.lint import lint as lint
    from skillsv.api.matrix import Matrix as Matrix
    from skillsv.api.matrix import matrix as matrix
    from skillsv.api.plan import Plan as Plan
    from skillsv.api.plan import plan as plan
    from skillsv.api.run import Run as Run
    from skillsv.api.run import avalue as avalue
    from skillsv.api.run import load_run as load_run
    from skillsv.api.run import value as value
    from skillsv.api.shorten import Proof as Proof
    from skillsv.api.shorten import ShorterSkill as ShorterSkill
    from skillsv.api.shorten import aconfirm as aconfirm
    from skillsv.api.shorten import confirm as confirm
    from skillsv.api.shorten import prune as prune
    from skillsv.api.shrink import ashrink as ashrink
    from skillsv.api.shrink import shrink as shrink
    from skillsv.api.shrunk_skill import ShrunkSkill as ShrunkSkill
    from skillsv.api.skill import Skill as Skill
    from skillsv.api.skill import compile as compile  # noqa: A004
    from skillsv.api.skill import orders as orders
    from skillsv.api.skill import render as render
    from skillsv.api.trigger import trigger as trigger
    from skillsv.api.valuation import Valuation as Valuation
    from skillsv.model.protocols import Agent as Agent
    from skillsv.model.protocols import Verifier as Verifier
    from skillsv.model.rollout import Outcome as Outcome
    from skillsv.model.task import Task as Task
    from skillsv.sandbox.user_views import SkillView as SkillView
    from skillsv.sandbox.user_views import TaskView as TaskView

_HOMES = {
    "Agent": "skillsv.model.protocols",
    "Matrix": "skillsv.api.matrix",
    "Outcome": "skillsv.model.rollout",
    "Plan": "skillsv.api.plan",
    "Proof": "skillsv.api.shorten",
    "Run": "skillsv.api.run",
    "ShorterSkill": "skillsv.api.shorten",
    "ShrunkSkill": "skillsv.api.shrunk_skill",
    "Skill": "skillsv.api.skill",
    "SkillView": "skillsv.sandbox.user_views",
    "Task": "skillsv.model.task",
    "TaskView": "skillsv.sandbox.user_views",
    "Valuation": "skillsv.api.valuation",
    "Verifier": "skillsv.model.protocols",
    "aconfirm": "skillsv.api.shorten",
    "ashrink": "skillsv.api.shrink",
    "avalue": "skillsv.api.run",
    "compile": "skillsv.api.skill",
    "confirm": "skillsv.api.shorten",
    "errors": "skillsv",
    "lint": "skillsv.api.lint",
    "load_run": "skillsv.api.run",
    "matrix": "skillsv.api.matrix",
    "orders": "skillsv.api.skill",
    "plan": "skillsv.api.plan",
    "prune": "skillsv.api.shorten",
    "render": "skillsv.api.skill",
    "shrink": "skillsv.api.shrink",
    "trigger": "skillsv.api.trigger",
    "value": "skillsv.api.run",
}
"""The module of each public name. It is imported at the first use."""

__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605 - a list of texts


def __getattr__(name: str) -> object:
    """Import a public name at its first use, so that `import skillsv` stays fast."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'skillsv' has no attribute '{name}'")
    found: object = import_module("skillsv.errors") if name == "errors" else getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
