"""The shape of the skill: how long it is, and where its parts need each other in a circle."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.compile.lint.subject import Remark, Subject

_LINES = 500
_CHARACTERS_PER_TOKEN = 4
_TOKENS = 5000


def long_body(subject: Subject) -> Iterator[Remark]:
    """A body beyond the specification's advice: 500 lines, 5000 tokens. All of it is read on every use."""
    main = subject.main
    body = main.lines[main.body_start :]
    tokens = sum(len(line) + 1 for line in body) // _CHARACTERS_PER_TOKEN
    if len(body) > _LINES or tokens > _TOKENS:
        words = (
            f"The body has {len(body)} lines, about {tokens} tokens; the advice is at most {_LINES} and {_TOKENS}. "
            "Move details into files that are read when needed."
        )
        yield Remark(words, main.path, main.body_start + 1)


def cycle(subject: Subject) -> Iterator[Remark]:
    """Parts that need each other in a circle: they are kept or removed only together."""
    compiled = subject.compiled
    for contraction in compiled.contractions:
        unit = compiled.unit[contraction.unit]
        places = ", ".join(f"{extent.file}:{extent.lines.first}" for extent in unit.extents[:6])
        more = f" and {len(unit.extents) - 6} more" if len(unit.extents) > 6 else ""
        words = (
            f"{len(contraction.members)} parts refer to each other in a circle ({places}{more}; "
            f"{' '.join(contraction.rules)}), so they are valued as one. Drop a reference to tell them apart."
        )
        yield Remark(words, unit.file, unit.lines.first)


def broken_table(subject: Subject) -> Iterator[Remark]:
    """Table rows cut off from their header by something in between: they no longer make a table."""
    compiled = subject.compiled
    for edge in compiled.edges:
        if edge.rule == "R7" and edge.at and edge.target_at:
            words = (
                f"These table rows stand apart from their header on line {edge.target_at.line}, "
                "so they are no table. Move them together, or repeat the header."
            )
            yield Remark(words, edge.at.file, edge.at.line)
