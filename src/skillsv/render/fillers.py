"""Neutral text that stands in for what is absent: rho_pad's placeholders.

That filler is neutral is an assumption (the paper's context cost rests on it), so there is more than one: a run can
report two and compare. Each word is one token in the o200k and cl100k vocabularies; the padder corrects the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice

from skillsv.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """Words that are repeated until the space is full.

    `last` stands in for a full stop that would end a line: vocabularies join that with the line end into one token,
    and each word is to count as one.
    """

    name: str
    words: tuple[str, ...]
    last: str = ""

    def text(self, count: int) -> str:
        """That many words."""
        if len(self.words) == 1:
            return self.words[0] * count
        words = list(islice(cycle(self.words), count))
        if words and words[-1] == "." and self.last:
            words[-1] = self.last
        return "".join(words)


FILLERS = {
    filler.name: filler
    for filler in (
        Filler(name="blank", words=(" blank",)),
        Filler(name="dots", words=(" .",)),
        Filler(
            name="sentences",
            words=(" This", " part", " is", " left", " empty", " and", " says", " nothing", "."),
            last=" here",
        ),
    )
}
"""All fillers by name."""


def filler_named(name: str) -> Filler:
    """The filler with that name."""
    if name not in FILLERS:
        raise SettingsError(f"There is no filler '{name}'.", hint=f"Choose one of: {', '.join(FILLERS)}.")
    return FILLERS[name]
