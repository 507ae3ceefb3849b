"""Makes agent, judge and editor of a run, and the agent that `doctor` checks, from the settings of the run.

So all of them use the server (`base_url`) and the prices of the run, and none uses a provider's default address.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from skillsv.agents import AgentOptions, ChatOptions
from skillsv.sandbox.redaction import remember_forwarded
from skillsv.settings import Settings

T = TypeVar("T")


def make_client(make: Callable[[str, AgentOptions], T], spec: str, settings: Settings, folder: Path) -> T:
    """Call `make` (`make_agent`, `make_editor`, or a task source's) with the options of these settings.

    Files that the specification names are looked up in `folder`.
    """
    remember_forwarded(settings.forward_env)
    options = AgentOptions(
        timeout=settings.timeout,
        skill_dir=settings.skill_dir,
        stdin=settings.stdin,
        forward_env=settings.forward_env,
        show_target=settings.show_target,
        folder=folder,
        agent_version=settings.agent_version,
        depends_on=settings.depends_on,
        sandboxed=settings.sandbox_agent,
        container=settings.container,
        chat=_chat_options(settings),
        inspect_logs=Path(settings.inspect_logs) if settings.inspect_logs else None,
    )
    return make(spec, options)


def _chat_options(settings: Settings) -> ChatOptions:
    """The part of the settings that only clients of the kind `model:` read."""
    return ChatOptions(
        base_url=settings.base_url,
        deliver=settings.deliver,
        tools=settings.tools,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        turns=settings.turns,
        stop=settings.stop,
        sandbox=settings.sandboxed,
        prices=Path(settings.prices) if settings.prices else None,
    )
