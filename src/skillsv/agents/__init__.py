"""Agents answer tasks, with a rendered skill or without one. `make_agent` makes one from its specification."""

from skillsv.agents.make import make_agent, price_known
from skillsv.agents.options import AgentOptions, ChatOptions

__all__ = ["AgentOptions", "ChatOptions", "make_agent", "price_known"]
