"""From a specification such as `python:agent.py:run` to an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from skillsv.agents.options import AgentOptions
from skillsv.errors import SettingsError
from skillsv.model.protocols import Agent
from skillsv.sandbox.inspect_file import require_inspect


def make_agent(spec: str, options: AgentOptions | None = None) -> Agent:
    """The agent that a specification names. Raises SettingsError with the known kinds where it names none."""
    scheme, colon, rest = spec.partition(":")
    maker = MAKERS.get(scheme)
    if maker is None or not colon or not rest.strip():
        raise SettingsError(
            f"`{spec}` is not an agent.",
            hint="Known: model:PROVIDER:NAME, command:PROGRAM ..., python:FILE.py:name, inspect:FILE.py@task, "
            "planted:NAME.",
        )
    return maker(rest, options or AgentOptions())


def price_known(spec: str, options: AgentOptions) -> bool:
    """Whether money can be counted from the first rollout on: the agent is free, or its model has a price.

    The agents that only a benchmark knows have a name without a colon. They are scripts and cost nothing.
    """
    scheme, colon, rest = spec.partition(":")
    if scheme != "model":
        return scheme == "planted" or not colon
    from skillsv.agents.model import has_price

    return has_price(rest, options)


def _command(rest: str, options: AgentOptions) -> Agent:
    from skillsv.agents.command import CommandAgent

    return CommandAgent(rest, options)


def _python(rest: str, options: AgentOptions) -> Agent:
    from skillsv.agents.python import PythonAgent

    return PythonAgent(rest, options)


def _model(rest: str, options: AgentOptions) -> Agent:
    if find_spec("pydantic_ai") is None:
        raise SettingsError(
            "Talking to models needs the package pydantic-ai.", hint="Install it: pip install 'skillsv[models]'."
        )
    from skillsv.agents.model import ChatAgent

    return ChatAgent(rest, options)


def _inspect(rest: str, options: AgentOptions) -> Agent:
    require_inspect()
    from skillsv.agents.inspect import InspectAgent

    return InspectAgent(rest, options)


def _planted(rest: str, options: AgentOptions) -> Agent:
    del options  # a planted agent starts no program and reads no file
    from skillsv.agents.planted import make_planted

    return make_planted(rest)


MAKERS: Mapping[str, Callable[[str, AgentOptions], Agent]] = {
    "command": _command,
    "python": _python,
    "model": _model,
    "inspect": _inspect,
    "planted": _planted,
}
"""One row per kind of agent; each is imported only when it is asked for."""
