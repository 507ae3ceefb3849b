"""Flags that several commands share, each group written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from skillsv.compile import CompileOptions
from skillsv.errors import SettingsError

COMPILER = Group("Compiler")


@Parameter(name="*", group=COMPILER)
@dataclass(frozen=True, kw_only=True)
class CompileFlags:
    """How the skill is cut into units; the same for every command that reads a skill."""

    granularity: Annotated[
        Literal["block", "item", "section"], Parameter(help="How finely the text is cut into units.")
    ] = "block"
    regions: Annotated[
        Literal["atomic", "split"], Parameter(help="Optimizer regions: one unit each, or cut like other text.")
    ] = "atomic"
    without: Annotated[str, Parameter(help="Rules to switch off, such as R3,R8,R9.")] = ""
    include: Annotated[tuple[str, ...], Parameter(help="Only these resource files are units (glob).")] = ()
    exclude: Annotated[tuple[str, ...], Parameter(help="These resource files are not units (glob).")] = ()
    marker: Annotated[
        tuple[str, ...], Parameter(help="A pair START=END of marker lines, instead of the built-in ones.")
    ] = ()

    def options(self) -> CompileOptions:
        """The compiler's own options, with the built-in markers where none were given."""
        standard = CompileOptions()
        return CompileOptions(
            granularity=self.granularity,
            regions=self.regions,
            without=frozenset(word.strip().upper() for word in self.without.split(",") if word.strip()),
            include=self.include,
            exclude=self.exclude,
            markers=tuple(map(_marker_pair, self.marker)) or standard.markers,
        )


def _marker_pair(text: str) -> tuple[str, str]:
    start, separator, end = text.partition("=")
    if not (separator and start.strip() and end.strip()):
        raise SettingsError(f"the marker '{text}' is not a pair START=END.", hint="Write both lines, joined by '='.")
    return start.strip(), end.strip()
