"""Colours that stay apart for colour-blind readers: blue helps, orange harms, and every verdict has a shape as well.

Attributes carry these light-theme colours, so that a saved drawing stands alone; the page's style sheet overrides
them by class, which is how one drawing serves light and dark.
"""

from __future__ import annotations

from markupsafe import Markup

from skillsv.model.value import Action
from skillsv.report.figures.svg import Number, element

MUTED = "#5c6670"
FAINT = "#e3e7eb"
POSITIVE = "#0a6ab4"
NEGATIVE = "#c2500a"

VERDICT = {
    Action.KEEP: POSITIVE,
    Action.COMPRESS: "#00807a",
    Action.DELETE: "#68717a",
    Action.HARMFUL: NEGATIVE,
    Action.UNRESOLVED: "#7b6a94",
}

METHODS = (POSITIVE, NEGATIVE, "#00807a", "#7b6a94", "#68717a")
"""Colours of pruning curves, in order; each curve has its own dashes as well."""

DASHES = (None, "7 4", "2 3", "9 3 2 3", "1 4")


def marker(action: Action, x: float, y: float, size: float = 5.0) -> Markup:
    """The verdict's shape at a place: disc, half disc, ring, triangle, question mark's diamond."""
    colour, kind = VERDICT[action], f"mark v-{action}"
    if action is Action.HARMFUL:
        shape = f"M{x - size:.1f} {y - size * 0.8:.1f}h{2 * size:.1f}l{-size:.1f} {1.7 * size:.1f}z"
        return element("path", d=shape, fill=colour, class_=kind)
    if action is Action.UNRESOLVED:
        shape = f"M{x:.1f} {y - size:.1f}l{size:.1f} {size:.1f}l{-size:.1f} {size:.1f}l{-size:.1f} {-size:.1f}z"
        return element("path", d=shape, fill="none", stroke=colour, stroke_width=1.6, class_=f"{kind} hollow")
    if action is Action.DELETE:
        return element(
            "circle", cx=x, cy=y, r=size - 1, fill="none", stroke=colour, stroke_width=1.8, class_=f"{kind} hollow"
        )
    disc = element("circle", cx=x, cy=y, r=size - 0.5, fill=colour, class_=kind)
    if action is Action.COMPRESS:
        half = f"M{x:.1f} {y - size + 2:.1f}a{size - 2:.1f} {size - 2:.1f} 0 0 1 0 {2 * size - 4:.1f}z"
        return element("g", disc, element("path", d=half, fill="#fff", class_="hole"))
    return disc


def arms(action: Action, strokes: str, **attributes: Number | str | None) -> Markup:
    """The intervals of all units with one verdict as one path."""
    return element("path", d=strokes, stroke=VERDICT[action], fill="none", class_=f"arms v-{action}", **attributes)
