"""Write a command that behaves like those of skillsv: the same flags, results on stdout, consent before spending.

`given` collects the settings that flags gave. Importing this module is fast; what runs something is in `runs`.
"""

from skillsv.cli.consent import agree
from skillsv.cli.flags import AgentFlags, BudgetFlags, CompileFlags, EstimatorFlags, Json, RunFlags, given
from skillsv.cli.printing import deliver, json_text, refuse_inside

__all__ = [
    "AgentFlags",
    "BudgetFlags",
    "CompileFlags",
    "EstimatorFlags",
    "Json",
    "RunFlags",
    "agree",
    "deliver",
    "given",
    "json_text",
    "refuse_inside",
]
