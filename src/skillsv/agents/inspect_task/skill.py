"""What a task of Inspect uses to hand the rendered skill to its model: the skill tool, absent for the bare agent."""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, skill

TOOL = "skill"
"""The name under which Inspect's tool appears in a conversation."""

OFFERED = "skillsv_skill_offered"
"""Set in the store of a sample whose model was offered the tool, so that a skill left unopened is seen as one."""


def skill_tools(state: TaskState) -> list[Tool]:
    """Inspect's skill tool with the rendered skill of this sample; nothing where there is no skill.

        react(tools=[bash(), *skill_tools(state)])

    The tool copies the skill into the sample's sandbox when it is first called.
    """
    folder = state.metadata.get("skill_folder")
    if not folder:
        return []
    state.store.set(OFFERED, value=True)
    return [skill([folder])]


@solver
def skill_from_sample() -> Solver:
    """A solver that offers the rendered skill as a tool, beside those already there. It goes before `generate()`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        state.tools.extend(skill_tools(state))
        return state

    return solve
