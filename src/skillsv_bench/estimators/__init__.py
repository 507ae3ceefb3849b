"""How well estimators recover known values, rollout for rollout: Algorithm 1, the adaptive one, simple baselines."""

from skillsv_bench.estimators.arms import Player, make_adaptive_problem, play_adaptive

__all__ = ["Player", "make_adaptive_problem", "play_adaptive"]
