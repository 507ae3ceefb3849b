"""The agent `model:PROVIDER:NAME`: any language model, with tools and a sandbox. Needs the extra `models`."""

from skillsv.agents.model.agent import ChatAgent
from skillsv.agents.model.client import ModelClient, has_price

__all__ = ["ChatAgent", "ModelClient", "has_price"]
