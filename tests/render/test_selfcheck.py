"""The self-check sees what a broken operator would do; each fault is injected here."""

from __future__ import annotations

import pytest

from skillsv.errors import SkillSVError
from skillsv.render.check import BLANK, filler_pattern, verify
from skillsv.render.document import deleted, joined, main_document
from skillsv.render.padding import FILLERS
from skillsv.render.renderer import Coalitions


@pytest.fixture
def case(small):
    coalitions = Coalitions(small)
    document = main_document(small, coalitions.bits)
    kept = coalitions.kept(frozenset({"m", "intro"}))
    return document, kept, deleted(document, kept)


def test_a_sound_rendering_passes(case):
    document, kept, parts = case
    verify(document, kept, parts, joined(parts), BLANK)


def test_a_changed_byte_is_seen(case):
    document, kept, parts = case
    with pytest.raises(SkillSVError, match="changed bytes"):
        verify(document, kept, parts, joined(parts).replace(b"first", b"FIRST"), BLANK)


def test_a_lost_survivor_is_seen(case):
    document, kept, parts = case
    with pytest.raises(SkillSVError, match="wrong piece"):
        verify(document, kept, parts[:-1], joined(parts[:-1]), BLANK)


def test_added_bytes_are_seen(case):
    document, kept, parts = case
    with pytest.raises(SkillSVError, match="belong to nothing"):
        verify(document, kept, parts, joined(parts) + b"more", BLANK)
    added = [*parts, (None, b"more\n")]
    with pytest.raises(SkillSVError, match="changed bytes"):
        verify(document, kept, added, joined(added), BLANK)


def test_filler_is_allowed_only_where_padding_is_asked_for(case):
    document, kept, parts = case
    filled = [*parts, (None, b"- blank blank\n blank\n")]
    verify(document, kept, filled, joined(filled), filler_pattern(FILLERS["blank"]))
    with pytest.raises(SkillSVError):
        verify(document, kept, filled, joined(filled), BLANK)
    with pytest.raises(SkillSVError):
        verify(document, kept, filled, joined(filled), filler_pattern(FILLERS["dots"]))


def test_a_failure_in_long_filler_is_found_at_once(case):
    document, kept, parts = case
    filled = [*parts, (None, b" ." * 50_000 + b"x\n")]
    with pytest.raises(SkillSVError):
        verify(document, kept, filled, joined(filled), filler_pattern(FILLERS["dots"]))
