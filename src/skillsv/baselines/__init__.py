"""Other ways to rank the same units: leave one out, ask a judge, roll dice. What SkillSV is measured against."""

from skillsv.baselines.chance import random_ranking
from skillsv.baselines.judge import judge_ranking, judge_tasks
from skillsv.baselines.leave_out import closure_loo, closure_loo_requests, closure_loo_total

__all__ = [
    "closure_loo",
    "closure_loo_requests",
    "closure_loo_total",
    "judge_ranking",
    "judge_tasks",
    "random_ranking",
]
