"""The text of a family game: a skill of any size, with parts, sections, lead-ins and references."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np

from skillsv.extend.estimators import compile_files
from skillsv.model.skill import CompiledSkill, FileRole, Skill, SkillFile
from skillsv_bench.planted.skills import ADVICE, mark

SECTION_UNITS = (3, 7)
"""Least and most units of a section: exact values list the coalitions of a section."""

PART_SECTIONS = 3
"""Sections of a part; a skill with more sections is divided into parts, which keeps exact values cheap."""

LEAD_SHARE = 0.5
"""Share of the sections whose first unit is a lead-in: the others of the section need it."""

REFERENCE_SHARE = 0.2
"""Share of the sections whose last unit refers to the section before, which makes a dependency across sections."""


def draw_skill(name: str, units: int, rng: np.random.Generator) -> CompiledSkill:
    """A compiled skill with this number of execution units, each with its mark, in document order."""
    data = "\n".join(_lines(name, _section_sizes(units, rng), rng)).encode()
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=data, size=len(data), digest=sha256(data).hexdigest())
    return compile_files(Skill(name=name, root=Path(name), main="SKILL.md", files=(main,)))


def _section_sizes(units: int, rng: np.random.Generator) -> list[int]:
    """Random sizes of sections that add up to `units`."""
    sizes: list[int] = []
    while (rest := units - sum(sizes)) > 0:
        size = int(rng.integers(SECTION_UNITS[0], SECTION_UNITS[1] + 1))
        sizes.append(min(size, rest))
    return sizes


def _lines(name: str, sizes: list[int], rng: np.random.Generator) -> Iterator[str]:
    yield from ("---", f"name: {name}", "description: A made-up skill whose values are known.", "---", "", f"# {name}")
    divided = len(sizes) > PART_SECTIONS + 1
    number = 1
    for section, size in enumerate(sizes):
        if divided and section % PART_SECTIONS == 0:
            yield from ("", f"## Part {section // PART_SECTIONS + 1}")
        yield from ("", f"{'###' if divided else '##'} Topic {section + 1}", "")
        leads = bool(rng.random() < LEAD_SHARE) and size > 1
        refers = bool(rng.random() < REFERENCE_SHARE) and section > 0 and section % PART_SECTIONS > 0
        for step in range(size):
            sentence = f"{ADVICE[number % len(ADVICE)]} [{mark(number)}]"
            if refers and step == size - 1:
                sentence += f", as told under [Topic {section}](#topic-{section})"
            yield from (f"{sentence}, and then:", "") if leads and step == 0 else (f"- {sentence}.",)
            number += 1
