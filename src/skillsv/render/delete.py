"""rho_del: absent units are gone. Survivors are joined by the longest gap that stood between them."""

from __future__ import annotations

from skillsv.render.document import Document
from skillsv.render.parts import Part


def deleted(document: Document, kept: int) -> list[Part]:
    """The slices that survive with the units whose bits are in `kept`, with the gaps between them.

    Where nothing is absent this is the original. Else the blank lines at the very top stay only in front of the slice
    they stood before, and those at the very end stay as long as anything does.
    """
    parts: list[Part] = []
    gap, skipped = b"", False
    for index, piece in enumerate(document.slices):
        if not piece.scope:
            if len(piece.data) > len(gap):
                gap = piece.data
        elif piece.scope & kept:
            if gap and (parts or not skipped):
                parts.append((None, gap))
            parts.append((index, piece.data))
            gap = b""
        else:
            skipped = True
    if not skipped:
        return [(None if piece.gap else index, piece.data) for index, piece in enumerate(document.slices)]
    if parts and document.slices[-1].gap:
        parts.append((None, document.slices[-1].data))
    return parts
