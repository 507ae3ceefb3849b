"""Seven kinds of games with known values and six kinds of noise, for estimators that were not made for them."""

from skillsv_bench.families.game import KINDS, NEW_TASKS, FamilyGame, draw_game
from skillsv_bench.families.noise import NOISES, FamilyNoise
from skillsv_bench.families.player import FamilyPlayer

__all__ = ["KINDS", "NEW_TASKS", "NOISES", "FamilyGame", "FamilyNoise", "FamilyPlayer", "draw_game"]
