"""Agents: what answers a task, with the skill it is given or without."""

from skillsv.agents.make import make_agent, price_known
from skillsv.agents.options import AgentOptions, ChatOptions

__all__ = ["AgentOptions", "ChatOptions", "make_agent", "price_known"]
