"""Agents answer tasks, with a rendered skill or without one. `make_agent` makes one from its specification."""

from skillsv.agents.fingerprints import not_checked
from skillsv.agents.make import make_agent, price_known, refuse_sandbox
from skillsv.agents.options import AgentOptions, ChatOptions
from skillsv.agents.provider_name import name_provider

__all__ = ["AgentOptions", "ChatOptions", "make_agent", "name_provider", "not_checked", "price_known", "refuse_sandbox"]
