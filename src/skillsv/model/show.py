"""Results in a notebook: as a dictionary, as a data frame, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


_CAPTION = "<caption>Amounts of score in points of a hundred.</caption>"


class Tabular:
    """A result with one row per unit. Whoever inherits says what a row holds.

    Every float of a row is an amount of score. Dictionaries and data frames keep it as a share, tables show points.
    """

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per unit."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Everything in the result as JSON's plain values, field by field."""
        import msgspec

        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=str))
        return plain

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with a row per unit (pandas must be installed)."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        if not rows:
            return "<p>No units.</p>"
        head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in rows)
        return f"<table>{_CAPTION}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{100 * value:+.1f}"
    return "" if value is None else escape(str(value))


def bounded(name: str, interval: Any) -> Mapping[str, float | None]:
    """An interval as three columns; empty ones where it was not estimated."""
    ends = (None, None, None) if interval is None else (interval.value, interval.low, interval.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
