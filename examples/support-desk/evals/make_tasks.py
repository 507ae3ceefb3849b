"""Writes tasks.jsonl: every ticket with the reply that the shop wants. `python make_tasks.py > tasks.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

NAMES = ("Ada", "Ben", "Cem", "Dora", "Eli", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kim", "Lea")
TONES = ("", ", and it is urgent")
GREETING = {"en": "Hello", "de": "Guten Tag", "fr": "Bonjour", "es": "Buenos días"}


def tickets() -> Iterator[tuple[str, str, str, str, str, dict[str, object]]]:
    """Stratum, text, queue, action, language and facts of each ticket."""
    words = ("invoice", "charge", "payment")
    for name, word, tone in zip(NAMES * 2, words * 8, TONES * 12, strict=True):
        yield "billing", f"{name} asks about the {word} of last month{tone}.", "billing", "reply", "en", {}
    words = ("parcel", "delivery", "tracking")
    for name, word in zip(NAMES * 2, words * 8, strict=True):
        yield "delivery", f"{name} wants news of the {word}.", "logistics", "reply", "en", {}
    words = ("password", "login", "username")
    for name, word in zip(NAMES, words * 4, strict=True):
        yield "accounts", f"{name} has forgotten the {word}.", "accounts", "reply", "en", {}
    for number, name in enumerate(NAMES * 2):
        yield "returns", f"{name} sends something back under RMA-{1200 + number}.", "returns", "reply", "en", {}
    for name, (tier, amount) in zip(NAMES * 2, product(("standard", "gold"), range(20, 260, 20)), strict=True):
        verdict = "refund" if amount <= {"standard": 50, "gold": 200}[tier] else "manager"
        text = f"{name} ({tier}) wants {amount} euros back."
        yield "refunds", text, "general", verdict, "en", {"tier": tier, "amount": amount}
    for name, language in zip(NAMES, ("de", "fr", "es") * 4, strict=True):
        yield "languages", f"{name} writes in another language to say thanks.", "general", "reply", language, {}
    for name in NAMES:
        yield "complaints", f"{name} has a complaint about the shop.", "general", "apology", "en", {}
    for name, tone in zip(NAMES, TONES * 6, strict=True):
        yield "plain", f"{name} asks when the shop opens{tone}.", "general", "reply", "en", {}


def lines() -> Iterator[str]:
    """One JSON object a ticket."""
    for number, (stratum, text, queue, action, language, facts) in enumerate(tickets(), start=1):
        yield json.dumps(
            {
                "id": f"{stratum}-{number:03}",
                "input": text,
                "target": f"{queue} / {action} / {GREETING[language]}",
                "stratum": stratum,
                "verifier": "exact",
                "metadata": {"language": language, **facts},
            },
            ensure_ascii=False,
        )


if __name__ == "__main__":
    print("\n".join(lines()))
