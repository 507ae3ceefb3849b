"""R5 EXAMPLE-REF: a workflow step needs the example that it tells the reader to follow."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from skillsv.compiler.draft import Draft, make_edge
from skillsv.compiler.paths import PathIndex
from skillsv.model.skill import Edge

_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_FOLDERS = {"example", "examples"}


def find_example_edges(draft: Draft) -> Iterator[Edge]:
    """Edges from ordered items to example resources they name: by path, or by the example's name in inline code."""
    examples = {path: unit for path, unit in draft.resources.items() if path in _examples(draft)}
    if not examples:
        return
    index = PathIndex(draft)
    names = {posixpath.splitext(posixpath.basename(path))[0]: path for path in sorted(examples, reverse=True)}
    for unit in draft.body:
        if unit.form != "ordered":
            continue
        mentions = [(mention.resource.file, mention.written, mention.offset) for mention in index.mentions(unit)]
        mentions += [
            (names[match[1]], match[1], match.start()) for match in _CODE_SPAN.finditer(unit.text) if match[1] in names
        ]
        seen: set[str] = set()
        for path, written, offset in mentions:
            if path in examples and path not in seen:
                seen.add(path)
                evidence = f"invokes the example {written} ({path})"
                yield make_edge("R5", unit, examples[path], evidence, (unit.line_of(offset), 1), prose=True)


def _examples(draft: Draft) -> set[str]:
    """Resources below an `examples` folder, and those the frontmatter lists under `examples`."""
    below = {path for path in draft.resources if _FOLDERS & {part.lower() for part in path.split("/")[:-1]}}
    return below | {posixpath.normpath(path) for path in draft.frontmatter.values("examples") if path}
