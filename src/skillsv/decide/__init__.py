"""From values to decisions: what to do with each unit, and why."""

from skillsv.decide.verdicts import verdicts

__all__ = ["verdicts"]
