"""Makes an agent from its specification, such as `python:agent.py:run` or `model:openai:NAME`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec

from skillsv.agents.options import CODING_PROGRAMS, AgentOptions
from skillsv.errors import SettingsError
from skillsv.model.protocols import Agent
from skillsv.sandbox.inspect_file import require_inspect


def make_agent(spec: str, options: AgentOptions | None = None) -> Agent:
    """The agent that a specification names; `rules` is short for `planted:rules`.

    Raises SettingsError, with the list of known kinds, if the specification names no agent.
    """
    scheme, colon, rest = SHORT_SPECS.get(spec, spec).partition(":")
    maker = MAKERS.get(scheme)
    if maker is None or not colon or not rest.strip():
        raise SettingsError(
            f"`{spec}` is not an agent.",
            hint="Known: model:PROVIDER:NAME, command:PROGRAM ..., python:FILE.py:name, inspect:FILE.py@task, "
            f"planted:NAME, rules (short for planted:rules), {', '.join(f'{name}:MODEL' for name in CODING_PROGRAMS)}.",
        )
    options = options or AgentOptions()
    if scheme in {"python", "inspect"}:
        refuse_sandbox(options, f"`{scheme}:` agents")
    return maker(rest, options)


def refuse_sandbox(options: AgentOptions, agents: str) -> None:
    """Raises SettingsError where agents that run in this process should be sandboxed."""
    if options.sandboxed:
        hint = "Use a `command:` agent, or leave out --sandbox-agent."
        raise SettingsError(f"{agents} run in this process and cannot be sandboxed.", hint=hint)


def price_known(spec: str, options: AgentOptions) -> bool:
    """Whether the cost of every rollout is known before the run: the agent is free, or its model has a price.

    A specification without a colon names a rule-following agent, of a benchmark or `rules`. These cost nothing.
    """
    scheme, colon, rest = spec.partition(":")
    if scheme in CODING_PROGRAMS:
        from skillsv.agents.coding import PROGRAMS

        return PROGRAMS[scheme].prices and options.chat.base_url is None
    if scheme != "model":
        return scheme == "planted" or not colon
    from skillsv.agents.model import has_price

    return has_price(rest, options)


def _command(rest: str, options: AgentOptions) -> Agent:
    from skillsv.agents.command import CommandAgent

    return CommandAgent(rest, options)


def _python(rest: str, options: AgentOptions) -> Agent:
    from skillsv.agents.python import python_agent

    return python_agent(rest, options)


def _model(rest: str, options: AgentOptions) -> Agent:
    if find_spec("pydantic_ai") is None:
        raise SettingsError(
            "Agents of the kind `model:` need the package pydantic-ai.",
            hint="Install it: pip install 'skillsv[models]'.",
        )
    from skillsv.agents.model import ModelAgent

    return ModelAgent(rest, options)


def _inspect(rest: str, options: AgentOptions) -> Agent:
    require_inspect()
    from skillsv.agents.inspect import InspectAgent

    return InspectAgent(rest, options)


def _coding(name: str, rest: str, options: AgentOptions) -> Agent:
    from skillsv.agents.coding import PROGRAMS, CodingAgent

    return CodingAgent(PROGRAMS[name], rest, options)


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
    **{name: partial(_coding, name) for name in CODING_PROGRAMS},
}
"""One row per kind of agent. The module of a kind is imported only when an agent of that kind is made."""

SHORT_SPECS: Mapping[str, str] = {"rules": "planted:rules"}
"""Specifications without a colon, and what they stand for. A benchmark has agents of its own with such names."""
