"""A skill of five lines, and agents that need some of them: their values are known."""

SKILL = """\
---
name: letters
description: Knows letters.
---
# Letters

- alpha
- beta
- gamma
- delta
- omega
"""


def read(skill, task):
    return "yes" if skill and task.input in skill.text else "no"


def small(skill, task):
    """Needs alpha, beta and gamma."""
    return read(skill, task) if task.input in {"alpha", "beta", "gamma"} else "no"


def large(skill, task):
    """Needs alpha and beta; gamma harms it."""
    if task.input == "gamma":
        return "no" if skill and "gamma" in skill.text else "yes"
    return read(skill, task) if task.input in {"alpha", "beta"} else "no"


def deaf(skill, task):
    """Ignores the skill."""
    return "no"
