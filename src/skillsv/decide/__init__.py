"""From values to decisions: what to do with each unit and why, and in which order units are removed."""

from skillsv.decide.pruning import Goal, count_steps, find_removable, pruning_path
from skillsv.decide.verdicts import verdicts

__all__ = ["Goal", "count_steps", "find_removable", "pruning_path", "verdicts"]
