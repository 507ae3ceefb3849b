"""How each verdict looks and what it means: one row a verdict, for the page, its drawings and the terminal.

To add a verdict, add one row to `VERDICT_STYLES`: chips, filters, colours, shapes and the glossary follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from skillsv.model.value import Action

Shape = Literal["disc", "half disc", "ring", "triangle", "diamond", "square", "dot"]
"""The shapes that drawings know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictStyle:
    """The look of one verdict. `light` and `dark` have a contrast of at least 4.5 on the page of that theme.

    `mark` is the shape as a character, so that no verdict is shown by colour alone. `terminal` is a rich style that can
    be read on black and on white. `dashed`: the verdict says that something is not known.
    """

    mark: str
    shape: Shape
    light: str
    dark: str
    terminal: str
    meaning: str
    dashed: bool = False


VERDICT_STYLES: Mapping[Action, VerdictStyle] = {
    Action.KEEP: VerdictStyle(
        mark="●",
        shape="disc",
        light="#0a6ab4",
        dark="#6cb8f5",
        terminal="color(32)",
        meaning="the line raises the score, or lines that raise it need it",
    ),
    Action.COMPRESS: VerdictStyle(
        mark="◐",
        shape="half disc",
        light="#00756f",
        dark="#4fd0c6",
        terminal="color(30)",
        meaning="what the line says helps, but its length costs points: say it in fewer words",
    ),
    Action.DELETE: VerdictStyle(
        mark="○",
        shape="ring",
        light="#5d666f",
        dark="#a9b2bb",
        terminal="color(243)",
        meaning="the line is shown to change nothing that matters",
    ),
    Action.EXPENDABLE: VerdictStyle(
        mark="◌",
        shape="square",
        light="#6b5d3f",
        dark="#cbb98c",
        terminal="color(243)",
        meaning="the line is worth less than the smallest difference that counts",
    ),
    Action.IDLE: VerdictStyle(
        mark="·",
        shape="dot",
        light="#48666f",
        dark="#9fc0cb",
        terminal="color(243)",
        meaning="the line changed no score on any of these tasks; on others it may",
    ),
    Action.HARMFUL: VerdictStyle(
        mark="▼",
        shape="triangle",
        light="#b84a05",
        dark="#f5a05c",
        terminal="color(130)",
        meaning="the line lowers the score",
    ),
    Action.UNRESOLVED: VerdictStyle(
        mark="?",
        shape="diamond",
        light="#6d5a8a",
        dark="#b9a5da",
        terminal="color(97)",
        meaning="the measurements do not decide yet; more rollouts would",
        dashed=True,
    ),
}
"""The verdicts in the order in which legends list them."""

POSITIVE = VERDICT_STYLES[Action.KEEP].light
"""Blue: a unit that helps."""

NEGATIVE = VERDICT_STYLES[Action.HARMFUL].light
"""Orange: a unit that harms."""


def style_rules() -> str:
    """The style sheet's rules for verdicts: the colour `--v`, and the shape in front of a chip's word."""
    rules = []
    for action, style in VERDICT_STYLES.items():
        rules.append(f".v-{action} {{ --v: light-dark({style.light}, {style.dark}); }}")
        rules.append(f'.chip.v-{action}::before {{ content: "{style.mark}" / ""; }}')
        if style.dashed:
            rules.append(f".chip.v-{action} {{ border-style: dashed; }}")
            rules.append(f".unit.v-{action} .text {{ border-left-style: dashed; }}")
    return "\n".join(rules) + "\n"
