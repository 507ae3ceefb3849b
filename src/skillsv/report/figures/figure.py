"""What every figure function returns: the drawing, the numbers in it as a table, and how notebooks show both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with its table twin: `columns` name the cells of each of `rows`. `name` is the file name for saving."""

    name: str
    title: str
    svg: Markup
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""

    def _repr_html_(self) -> str:
        caption = Markup("<figcaption><b>{}</b> {}</figcaption>").format(self.title, self.note)
        return str(Markup("<figure>{}{}</figure>").format(self.svg, caption))

    def _repr_mimebundle_(self, **_wishes: object) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "image/svg+xml": str(self.svg), "text/plain": str(self)}

    def __str__(self) -> str:
        return f"{self.title} ({len(self.rows)} rows)"
