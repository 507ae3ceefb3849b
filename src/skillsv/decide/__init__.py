"""From values to decisions: what to do with each unit and why, and in which order units are removed."""

from skillsv.decide.pruning import Goal, how_far, pruning_path, removable
from skillsv.decide.verdicts import verdicts

__all__ = ["Goal", "how_far", "pruning_path", "removable", "verdicts"]
