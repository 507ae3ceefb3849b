"""What a rendered document is put together from."""

from __future__ import annotations

Part = tuple[int | None, bytes]
"""The number of a surviving slice with its bytes, or None with the gap or filler that stands between survivors."""


def joined(parts: list[Part]) -> bytes:
    """The bytes of the document."""
    return b"".join([data for _, data in parts])
