"""The options of compilation, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Granularity = Literal["block", "group", "section", "item"]
"""The size of a unit: one block, one list item with what follows it, or one section. `item` is an earlier `group`."""

Regions = Literal["atomic", "split"]
"""An optimizer's region is one unit, or its blocks are units."""

Underlined = Literal["text", "heading"]
"""Text right above a line of dashes is text, unless it is a title; or always a heading, as in CommonMark."""

Inside = Literal["auto", "references", "main"]
"""Linked Markdown files are cut into units: where they hold more text than the main file, always, or never."""

RulesVersion = Literal["2", "1"]
"""The version of the dependency rules; runs of earlier versions keep version 1."""

MARKERS = (
    ("<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"),
    ("<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"),
)
"""Opening and closing marker of the regions that known optimizers write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """How to cut a skill into units and connect them. The defaults follow the words of the paper.

    `without` names rules to leave out (`R3`; never R6); `include` and `exclude` are glob patterns that decide which
    auxiliary files are units (the others are only carried along); `markers` are the pairs around an
    optimizer's regions.
    """

    granularity: Granularity = "block"
    underlined: Underlined = "text"
    regions: Regions = "atomic"
    inside: Inside = "auto"
    rules_version: RulesVersion = "2"
    without: frozenset[str] = frozenset()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    markers: tuple[tuple[str, str], ...] = MARKERS

    def as_mapping(
        self, *, glued_rules: bool = False, other_rules: bool = False, inside: bool = False
    ) -> dict[str, object]:
        """The options as plain data in a fixed order, for the manifest and the digest.

        `underlined` is in it only for a skill that it changes (`glued_rules`), and `rules_version` only where the
        versions give other edges (`other_rules`), and `inside` only where files are cut: so other skills keep the
        digest that earlier versions gave them.
        """
        mapping: dict[str, object] = {
            "granularity": self.granularity,
            "regions": self.regions,
            "without": sorted(self.without),
            "include": list(self.include),
            "exclude": list(self.exclude),
            "markers": [list(pair) for pair in self.markers],
        }
        if glued_rules:
            mapping["underlined"] = self.underlined
        if other_rules and self.rules_version != "1":
            mapping["rules_version"] = self.rules_version
        if inside:
            mapping["inside"] = "references"
        return mapping
