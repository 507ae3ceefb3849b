"""The agent `model:PROVIDER:NAME`: any language model, with tools and a sandbox. Needs the extra `models`."""

from skillsv.agents.chat.agent import ChatAgent

__all__ = ["ChatAgent"]
