"""The description in a skill's frontmatter: its sentences, and the frontmatter with another description."""

from __future__ import annotations

import json
import re

from skillsv.model.frontmatter import frontmatter_end, read_frontmatter

_END = re.compile(r"(?<=[.!?。！？])[\"')\]”’]?\s+(?=[\"'(\[“‘`]?[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я一-鿿ぁ-ヿ])|(?<=[。！？])")
"""Where a sentence may end: after its mark, and before a capital letter, a digit or a letter without case."""

_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|Mr|Mrs|Dr|No|Fig)|\b[A-Z])\.[\"')\]”’]?\s*$")
"""An abbreviation at the end of a piece: the sentence goes on."""


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a description, each on one line."""
    sentences: list[str] = []
    start = 0
    flat = " ".join(text.split())
    for match in _END.finditer(flat):
        if not _ABBREVIATION.search(flat[start : match.end()]):
            sentences.append(flat[start : match.end()].strip())
            start = match.end()
    sentences.append(flat[start:].strip())
    return tuple(sentence for sentence in sentences if sentence)


def replace_description(text: str, description: str) -> str:
    """The same Markdown file with another description; no other byte changes.

    Raises ValueError where the frontmatter has no description, or would say something else afterwards.
    """
    import yaml

    lines = text.splitlines(keepends=True)
    plain = [line.rstrip("\r\n") for line in lines]
    before = read_frontmatter(plain)
    if before.description is None:
        raise ValueError("the frontmatter has no description")
    end = frontmatter_end(plain)
    head = "".join(lines[1 : end - 1])
    node = yaml.compose(head, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)  # else there would be no description
    value = next(value for key, value in reversed(node.value) if key.value == "description")
    written = json.dumps(description, ensure_ascii=False)
    if value.style in {"|", ">"}:
        written += "\n"
    first = len(lines[0])
    new = f"{text[: first + value.start_mark.index]}{written}{text[first + value.end_mark.index :]}"
    after = read_frontmatter([line.rstrip("\r\n") for line in new.splitlines(keepends=True)])
    others = [[entry for entry in found.entries if entry.key != "description"] for found in (before, after)]
    if (after.description or "") != description.strip() or [entry.value for entry in others[0]] != [
        entry.value for entry in others[1]
    ]:
        raise ValueError("the frontmatter cannot be written with another description")
    return new
