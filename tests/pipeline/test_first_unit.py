"""A unit that comes first in every order: only {m} is without it, so the anchors have to tell its effect."""

import random

import pytest

import skillsv as sv
from skillsv.model.value import Action

SKILL = """---
name: teams
description: Routes tickets. Use for tickets.
---

# Teams

A visit goes to nowhere. Pick the team by the word:

- A refund goes to billing.
- A parcel goes to logistics.
- A smile goes nowhere at all.
"""

ANSWERS = {"refund": "billing", "parcel": "logistics", "visit": "desk"}

LUCK = random.Random(5)


def steady(text, word):
    """Whether the text names the team; the lead-in sends visits to the wrong place."""
    return float(f"{word} goes to {ANSWERS[word]}" in text if word != "visit" else "visit goes to nowhere" not in text)


def noisy(text, word):
    """The same, three times in four."""
    return steady(text, word) if LUCK.random() < 0.75 else 0.0


@pytest.mark.parametrize("evaluate", [steady, noisy])
def test_a_harmful_lead_in_is_called_harmful(evaluate):
    run = sv.value(SKILL, evaluate=evaluate, examples=["refund", "parcel", "visit"] * 10, max_rollouts=1200)
    lead_in = next(unit for unit in run.valuation.units if unit.text.startswith("A visit"))
    assert lead_in.net.high < 0
    assert lead_in.action == Action.HARMFUL
