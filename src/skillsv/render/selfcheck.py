"""Every rendering is checked against the original: survivors byte for byte, and nothing added but gaps or filler."""

from __future__ import annotations

import re

from skillsv.errors import SkillSVError
from skillsv.render.document import Document
from skillsv.render.fillers import Filler
from skillsv.render.fit import CRUMBS
from skillsv.render.parts import Part
from skillsv.render.shapes import MARKER

BLANK = re.compile(rb"\s*")


def filler_pattern(filler: Filler) -> re.Pattern[bytes]:
    """What may stand between survivors under padding: filler, crumbs, line ends, the marker of a list item.

    Possessive, so that a failure is found at once and not after every way to split it.
    """
    words = b"|".join(re.escape(word.encode()) for word in (*filler.words, filler.last, *CRUMBS) if word)
    return re.compile(rb"(?:" + MARKER + rb")?(?:" + words + rb"|\s)*+")


def verify(document: Document, kept: int, parts: list[Part], data: bytes, between: re.Pattern[bytes]) -> None:
    """Complain if `data` is not exactly the surviving slices in order, with only `between` around them."""
    expected = [index for index, piece in enumerate(document.slices) if piece.scope & kept]
    if [index for index, _ in parts if index is not None and document.slices[index].scope] != expected:
        raise SkillSVError("A rendering lost or kept the wrong piece of the skill: this is a bug in skillsv.")
    place = 0
    for index, text in parts:
        if index is None:
            end = place + len(text)
            sound = between.fullmatch(data, place, end) is not None
        else:
            original = document.slices[index].data
            end = place + len(original)
            sound = data.startswith(original, place)
        if not sound:
            raise SkillSVError(
                f"A rendering changed bytes at offset {place} that it must not: this is a bug in skillsv."
            )
        place = end
    if place != len(data):
        raise SkillSVError("A rendering has bytes that belong to nothing: this is a bug in skillsv.")
