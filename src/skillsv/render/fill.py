"""The filler of one absent piece, while it is being fitted."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.render.fillers import Filler
from skillsv.render.shapes import Shape


@dataclass(slots=True)
class Fill:
    """So many words of filler on each line. `crumb` ends the last line where whole words do not fit exactly."""

    filler: Filler
    shape: Shape
    words: list[int]
    crumb: str = ""

    def copy(self) -> Fill:
        """Another one that can be changed for itself."""
        return Fill(self.filler, self.shape, list(self.words), self.crumb)

    def text(self) -> bytes:
        """The filler as it stands in the document."""
        shape, texts = self.shape, [self.filler.text(count) for count in self.words]
        texts[-1] += self.crumb
        lines = [f"{shape.before}{text}{shape.after}" for text in texts]
        return f"{shape.open}{shape.join.join(lines)}{shape.close}".encode()

    def grow(self, words: int) -> int:
        """Add words to the last line, or take some away from the end, and say how many could not be taken.

        The other lines stay as they are: how a line ends changes its count, and must not change back and forth.
        """
        for line in range(len(self.words) - 1, -1, -1):
            self.words[line], words = max(0, self.words[line] + words), min(0, self.words[line] + words)
            if not words:
                break
        return words
