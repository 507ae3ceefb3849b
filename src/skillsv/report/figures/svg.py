"""SVG as nested function calls, which escape every text and attribute, and `Figure`, the result of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from unicodedata import east_asian_width

from markupsafe import Markup, escape

Number = float | int

Cell = str | int | float | None
"""One cell of a figure's table."""


def element(tag: str, *children: str, **attributes: Number | str | None) -> Markup:
    """One element. `class_` is `class`, `stroke_width` is `stroke-width`; an attribute that is None is left out."""
    written = "".join(
        f' {_name(name)}="{escape(value) if isinstance(value, str) else _value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(map(escape, children))
    text = f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"
    return Markup(text)  # noqa: S704  (children and attributes were escaped above)


STANDALONE = (
    ' xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12" fill="currentColor"'
)
"""The attributes of a drawing outside the page; inside it, the page's style has them."""


def drawing(width: Number, height: Number, title: str, description: str, *children: str, class_: str = "") -> Markup:
    """The outer `<svg>`, with a name and a description for screen readers.

    A drawing without links is read as one image; one with links as a group, so that the links can be reached.
    """
    inner = element(
        "svg",
        element("title", title),
        *([element("desc", description)] if description else []),
        *children,
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        role="group" if any("<a " in child for child in children) else "img",
        class_=f"figure {class_}".strip(),
    )
    return Markup(str(inner).replace("<svg", f"<svg{STANDALONE}", 1))  # noqa: S704  (already markup)


def link(target: str | None, *children: str, label: str | None = None) -> Markup:
    """A link inside a drawing; without a target a plain group. The label is shown on hovering and read aloud."""
    named = (element("title", label), *children) if label else children
    if target is None:
        return element("g", *named)
    return element("a", *named, href=target)


def path(points: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
    """The `d` of a polyline."""
    return "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points) + ("Z" if closed else "")


# Pixels: how wide characters are at a font size of 12 pixels, in the wider ones of the common fonts.
_WIDE_CHARACTER = 12.5
_CAPITAL = 9.0
_CHARACTER = 6.3


def fit_text(text: str, width: float) -> str:
    """The text, cut with an ellipsis where it is wider than `width` pixels. Widths are estimates: no font is known."""
    ends = list(accumulate(map(_character_width, text)))
    if not ends or ends[-1] <= width:
        return text
    return text[: sum(end <= width - _WIDE_CHARACTER for end in ends)].rstrip("… ") + "…"


@cache
def _character_width(character: str) -> float:
    if east_asian_width(character) in {"W", "F"} or character in "MW@%":
        return _WIDE_CHARACTER
    return _CAPITAL if character.isupper() or character in "mw" else _CHARACTER


@cache
def _name(name: str) -> str:
    return name if name == "viewBox" else name.rstrip("_").replace("_", "-")


def _value(value: Number | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing and its numbers as a table: `columns` name the cells of a row. `name` is the file name for saving."""

    name: str
    title: str
    svg: Markup
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""

    def _repr_html_(self) -> str:
        caption = Markup("<figcaption><b>{}</b> {}</figcaption>").format(self.title, self.note)
        return str(Markup("<figure>{}{}</figure>").format(self.svg, caption))

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "image/svg+xml": str(self.svg), "text/plain": str(self)}

    def __str__(self) -> str:
        return f"{self.title} ({len(self.rows)} rows)"
