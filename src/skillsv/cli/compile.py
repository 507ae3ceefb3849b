"""`skillsv compile`: the map of a skill."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from skillsv.cli.flags import CompileFlags, Json, given
from skillsv.cli.printing import deliver, json_text, print_lines, refuse_inside
from skillsv.errors import SettingsError
from skillsv.model.skill import CompiledSkill


def compile_(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    json: Json = False,
    graph: Annotated[Literal["svg", "dot"] | None, Parameter(help="Draw the units and their dependencies.")] = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write to this file, not stdout.")] = None,
    flags: CompileFlags | None = None,
) -> int:
    """skillsv compile my-skill --graph svg -o my-skill.svg

    Map a skill: its units, what each needs and why, and the tree they stand in. No model, no cost.
    """
    from skillsv.api.skill import compile as compile_skill

    if json and graph:
        raise SettingsError("--json and --graph ask for two results at once.", hint="Give one of them.")
    refuse_inside(output, skill)
    compiled = compile_skill(skill, **given(flags)).compiled
    if json or graph or output:
        deliver(_document(compiled, json=json, graph=graph), output)
    else:
        from skillsv.report.outline import outline

        print_lines(outline(compiled))
    return 0


def _document(compiled: CompiledSkill, *, json: bool, graph: str | None) -> str:
    """The result as the text of one file."""
    if json:
        return "".join(_json_pieces(compiled))
    if graph == "svg":
        from skillsv.report.graph import graph_svg

        return graph_svg(compiled)
    if graph == "dot":
        from skillsv.report.graph_dot import graph_dot

        return graph_dot(compiled)
    from skillsv.report.outline import outline_text

    return outline_text(compiled)


def _json_pieces(compiled: CompiledSkill) -> Iterator[str]:
    """The JSON part by part, one unit or edge a line: a skill with 300,000 of them is not copied in memory."""
    from skillsv.report.compiled_json import compiled_parts

    separator = "{"
    for name, part in compiled_parts(compiled):
        yield f'{separator}\n  "{name}": '
        separator = ","
        if isinstance(part, Iterator):
            yield from _rows(part)
        else:
            yield json_text(part).rstrip("\n").replace("\n", "\n  ")
    yield "\n}\n"


def _rows(values: Iterator[object]) -> Iterator[str]:
    separator = "["
    for value in values:
        yield f"{separator}\n    {json_format.dumps(value)}"
        separator = ","
    yield "\n  ]" if separator == "," else "[]"
