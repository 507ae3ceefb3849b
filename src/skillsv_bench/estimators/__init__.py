"""How well estimators recover known values, rollout for rollout: Algorithm 1, the adaptive one, simple baselines."""

from skillsv_bench.estimators.arms import Player, play_adaptive, problem_of

__all__ = ["Player", "play_adaptive", "problem_of"]
