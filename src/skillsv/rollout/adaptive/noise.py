"""Is the agent noisy? Asked again and again, to the end of the run, wherever a score surprises."""

from __future__ import annotations

from dataclasses import dataclass, field

WINDOW = 40


@dataclass(slots=True)
class Monitor:
    """Counts two kinds of checks; only the last ones decide, so that noise which begins late is noticed.

    *Repeat*: a score that contradicts the forecast is asked for once more. A deterministic agent repeats itself.
    *Further*: after a jump was traced to one unit, one more unit is changed. A score that goes back betrays noise, or
    an agent that repeats itself but is thrown off by any change, which repeats do not show.
    """

    repeats: list[bool] = field(default_factory=list)
    further: list[bool] = field(default_factory=list)

    @property
    def reverts(self) -> int:
        """All checks that failed so far."""
        return sum(self.repeats) + sum(self.further)

    @property
    def checks(self) -> int:
        """All checks so far."""
        return len(self.repeats) + len(self.further)

    @property
    def noisy(self) -> bool:
        """Two failed repeats; or two scores that went back, and one in ten of the checks."""
        recent = self.further[-WINDOW:]
        back = sum(recent)
        return sum(self.repeats[-WINDOW:]) >= 2 or (back >= 2 and 10 * back >= len(recent))
