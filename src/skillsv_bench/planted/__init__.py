"""Skills with planted values: known truth for tests, demos, teaching, and for measuring the estimator itself."""

from skillsv_bench.planted.game import Noise, PlantedGame
from skillsv_bench.planted.generate import KINDS, planted_skill, write_game
from skillsv_bench.planted.simulate import SharedNoise, answer_requests, make_plans, play, record_chains, simulate

__all__ = [
    "KINDS",
    "Noise",
    "PlantedGame",
    "SharedNoise",
    "answer_requests",
    "make_plans",
    "planted_skill",
    "play",
    "record_chains",
    "simulate",
    "write_game",
]
