"""The agent `model:PROVIDER:NAME`: a language model with tools and a sandbox. Needs the extra `models`."""

from skillsv.agents.model.agent import ModelAgent
from skillsv.agents.model.client import ModelClient, has_price

__all__ = ["ModelAgent", "ModelClient", "has_price"]
