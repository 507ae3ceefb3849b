"""From values to decisions: what to do with each unit and why, and in which order units are removed."""

from skillsv.decide.pruning import Goal, count_steps, find_removable, pruning_path
from skillsv.decide.reached_files import find_reached_files
from skillsv.decide.verdicts import verdicts

__all__ = ["Goal", "count_steps", "find_reached_files", "find_removable", "pruning_path", "verdicts"]
