"""The agent `model:PROVIDER:NAME`: any language model, with tools and a sandbox. Needs the extra `models`."""

from skillsv.agents.chat.agent import ChatAgent
from skillsv.agents.chat.speaker import Speaker, has_price

__all__ = ["ChatAgent", "Speaker", "has_price"]
