"""Agent, judge and editor of a run, and the agent that `doctor` tries: all are made here, from the run's settings.

So they reach the server of the run (`base_url`) and read its prices, and none falls back to a provider's own address.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from skillsv.agents import AgentOptions, ChatOptions
from skillsv.settings import Settings

T = TypeVar("T")


def make_client(make: Callable[[str, AgentOptions], T], spec: str, settings: Settings, folder: Path) -> T:
    """What `make` (`make_agent`, `make_editor` or a kit's) makes of a specification; its files lie in `folder`."""
    options = AgentOptions(
        timeout=settings.timeout,
        skill_dir=settings.skill_dir,
        forward_env=settings.forward_env,
        show_target=settings.show_target,
        folder=folder,
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
        sandbox=not settings.no_sandbox,
        prices=Path(settings.prices) if settings.prices else None,
    )
