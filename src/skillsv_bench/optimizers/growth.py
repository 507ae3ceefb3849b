"""A growth game: a text of lines with known effects, examples that these lines decide, and a scripted editor.

Every example belongs to a topic. It is passed if the text has the helpful line of the topic and no harmful one. The
editor stands for a reflection model: it adds a few lines after looking at failures, some of which help, some do nothing
and some do harm. So the best text is known, and every line of a result can be counted as helpful, dead or harmful.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

import numpy as np

SEED_TEXT = "# Rules\n\n- Answer briefly.\n"
"""The text that every optimizer starts from: one dead line."""

LINE = re.compile(r"^- \[(?P<role>helps|dead|harms)-(?P<topic>\d+)-(?P<number>\d+)\]", re.MULTILINE)
"""A line of the game. Its mark says what it does; agents read the mark, methods treat it as any other text."""

WORDS = ("check the units", "name the source", "prefer the table", "state the date", "keep the order", "ask for the id")
"""Beginnings of the invented advice, so that lines differ in more than their mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthGame:
    """One game. `easy` is the share of topics that pass without a helpful line; `flips` the chance of a wrong score.

    A flip depends on the text and the example alone, so the agent gives the same answer to the same prompt.
    """

    seed: int
    topics: int = 12
    easy: float = 0.25
    flips: float = 0.0

    def examples(self, part: str, count: int) -> list[dict[str, object]]:
        """Examples of one part (train, validation, held-out); topics take turns."""
        return [{"id": f"{part}-{number}", "topic": number % self.topics} for number in range(count)]

    def score(self, text: str, example: object) -> float:
        """1 for a passed example, else 0."""
        assert isinstance(example, dict)
        topic = int(example["topic"])
        marks = _marks_of(text)
        helped = topic < self.easy * self.topics or ("helps", topic) in marks
        passed = helped and ("harms", topic) not in marks
        drawn = int(sha256(f"{self.seed} {example['id']} {text}".encode()).hexdigest()[:8], 16) / 16**8
        return float(passed != (drawn < self.flips))


@lru_cache(maxsize=64)
def _marks_of(text: str) -> frozenset[tuple[str, int]]:
    """What the lines of a text do, and for which topics. A text is scored on many examples in a row."""
    return frozenset((match["role"], int(match["topic"])) for match in LINE.finditer(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCounts:
    """The lines of a text by what they do. A repeated helpful line is dead: the first one is enough."""

    helpful: int
    dead: int
    harmful: int

    @property
    def useless(self) -> int:
        """Lines that the best text does not have."""
        return self.dead + self.harmful


def count_lines(text: str) -> LineCounts:
    """Count the lines of a text by what they do."""
    marks = [(match["role"], match["topic"]) for match in LINE.finditer(text)]
    helpful = len({topic for role, topic in marks if role == "helps"})
    harmful = sum(role == "harms" for role, _ in marks)
    dead = len(marks) - helpful - harmful + text.count("- Answer briefly.")
    return LineCounts(helpful=helpful, dead=dead, harmful=harmful)


class Editor:
    """Adds lines to a text, as a reflection model does: to the end, and never removing any unless told.

    Where it is shown measured values, it removes a line that these call harmful or without effect, with the chance
    `obeys` for each.
    """

    def __init__(self, game: GrowthGame, *, helps: float = 0.4, dead: float = 0.45, obeys: float = 0.5) -> None:
        self._game, self._helps, self._dead, self._obeys = game, helps, dead, obeys
        self._rng = np.random.default_rng([game.seed, 7])
        self._number = 0

    def rewrite(self, text: str, failed_topics: Sequence[int], feedback: str = "") -> str:
        """The text with one to three more lines."""
        kept = [line for line in text.splitlines() if not self._is_refused(line, feedback)]
        added = [self._line(failed_topics) for _ in range(int(self._rng.integers(1, 4)))]
        return "\n".join([*kept, *added]) + "\n"

    def _line(self, failed_topics: Sequence[int]) -> str:
        self._number += 1
        drawn = self._rng.random()
        role = "helps" if drawn < self._helps else "dead" if drawn < self._helps + self._dead else "harms"
        pool = list(failed_topics) if role == "helps" and failed_topics else list(range(self._game.topics))
        topic = int(self._rng.choice(pool))
        advice = WORDS[self._number % len(WORDS)]
        return f"- [{role}-{topic}-{self._number}] For requests of topic {topic}, {advice} before you answer."

    def _is_refused(self, line: str, feedback: str) -> bool:
        """Whether the feedback speaks against this line and the editor obeys."""
        match = LINE.match(line)
        if match is None or match.group() not in feedback:
            return False
        said = feedback[feedback.index(match.group()) :].splitlines()[0]
        return "remove" in said and bool(self._rng.random() < self._obeys)
