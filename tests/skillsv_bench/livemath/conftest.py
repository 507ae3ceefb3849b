"""Invented questions in upstream's layout: two months, with and without an option about a stronger result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

STRONGER = "One of the other options is true, but a stronger result is known."


def item(month: str, no: int, question: str, right: str, wrong: list[str]) -> dict:
    return {
        "no": no,
        "month": month,
        "paper_link": "none",
        "theorem": "SECRET THEOREM",
        "sketch": "SECRET SKETCH",
        "theorem_type": ["Universal"],
        "mcq": {
            "question": question,
            "correct_choice": {"label": "A", "text": right},
            "choices": [{"label": label, "text": text} for label, text in zip("BCDE", wrong, strict=True)],
            "meta": {},
        },
    }


WRONG = ["Every knot is a sum of three.", "No knot is a sum.", "Some knot is a sum of five.", "Knots do not add."]
RIGHT = "Every knot is a sum of two."
QUESTIONS = {
    "209901": [
        (1, "What is the strongest statement that can be proved about sums of knots?", STRONGER),
        (2, "What can be said about sums of knots?", STRONGER),
        (5, "Which description gives the complete classification of sums of knots?", RIGHT),
        (7, "What is the strongest statement about the constant in the sum of knots?", RIGHT),
    ],
    "209902": [
        (1, "Which property of K is equivalent to being a sum of knots?", RIGHT),
        (2, "What holds for every sum of knots?", RIGHT),
        (4, "Under these conditions, what is the strongest statement about K?", RIGHT),
        (12, "Which alternative holds?", RIGHT),
    ],
}


@pytest.fixture
def data(tmp_path) -> Path:
    for month, questions in QUESTIONS.items():
        file = tmp_path / "live" / "data" / month / f"qa_{month}_final.json"
        file.parent.mkdir(parents=True)
        items = [item(month, no, question, right, WRONG) for no, question, right in questions]
        file.write_text(json.dumps(items))
    return tmp_path / "live"


@pytest.fixture
def manifest(data):
    """Writes a manifest of one split beside the data."""

    def write(split: str, *ids: str) -> None:
        folder = data / "splits" / "livemathematicianbench_id_split" / split
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "items.json").write_text(json.dumps([{"id": name} for name in ids]))

    return write


@pytest.fixture
def shared() -> Path:
    place = Path(__file__).resolve().parents[3] / "../shared/benchmarks"
    if not (place / "livemath").is_dir():
        pytest.skip("the published questions are not in ../shared/benchmarks/livemath")
    return place
