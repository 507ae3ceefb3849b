"""Agents that are known coding programs, by name: `claude-code:MODEL`, `codex:MODEL` and others of `PROGRAMS`."""

from skillsv.agents.coding.agent import CodingAgent
from skillsv.agents.coding.requirements import Requirement, find_requirements
from skillsv.agents.coding.table import PROGRAMS

__all__ = ["PROGRAMS", "CodingAgent", "Requirement", "find_requirements"]
