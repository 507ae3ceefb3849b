"""The compiled skill in the DOT language of Graphviz: sections as clusters, units as nodes, edges with evidence."""

from __future__ import annotations

from collections.abc import Iterator

from skillsv.model.skill import Block, CompiledSkill, Leaf, Unit, UnitKind
from skillsv.report.escape import escape_line
from skillsv.report.graph import KIND_FILLS, edge_tooltip, rule_label, rule_style, unit_tooltip
from skillsv.report.sentences import files_by_path, first_words


def graph_dot(compiled: CompiledSkill) -> str:
    """The whole graph as DOT text; `source -> target` means that the source needs the target."""
    return "\n".join(_lines(compiled)) + "\n"


def _lines(compiled: CompiledSkill) -> Iterator[str]:
    yield f"digraph {_quoted(escape_line(compiled.skill.name))} {{"
    yield "  rankdir=RL; compound=true; newrank=true;"
    yield '  graph [fontname="Helvetica", fontsize=11, color="#cbd5e1", style=rounded];'
    yield '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, color="#64748b"];'
    yield '  edge [fontname="Helvetica", fontsize=9, arrowsize=0.7];'
    yield from _clusters(compiled)
    for edge in compiled.edges:
        style = rule_style(edge.rule)
        line = "dashed" if style.dash else "solid"
        style_attributes = f'color="{style.colour}", style={line}, tooltip={_quoted(edge_tooltip(edge))}'
        # Every unit needs the trigger; with these edges as constraints all units would be in one rank.
        more = ", constraint=false" if edge.rule == "R6" else f", label={_quoted(rule_label(edge.rule))}"
        yield f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [{style_attributes}{more}];"
    yield "}"


def _clusters(compiled: CompiledSkill) -> Iterator[str]:
    files = files_by_path(compiled)
    stack: list[tuple[Block | Leaf | None, int]] = [(child, 1) for child in reversed(compiled.hierarchy.children)]
    number = 0
    while stack:
        node, depth = stack.pop()
        indent = "  " * depth
        if isinstance(node, Leaf):
            unit = compiled.unit[node.unit]
            label, tooltip = _label(unit, first_words(unit, files, 40)), unit_tooltip(unit, files)
            fill = KIND_FILLS[unit.kind]
            yield f'{indent}{_quoted(unit.id)} [label={label}, fillcolor="{fill}", tooltip={_quoted(tooltip)}];'
        elif node is None:
            yield f"{indent}}}"
        else:
            number += 1
            yield f"{indent}subgraph cluster_{number} {{ label={_quoted(escape_line(node.name))};"
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))


def _label(unit: Unit, words: str) -> str:
    head = escape_line(unit.file) if unit.kind is UnitKind.RESOURCE else f"{escape_line(unit.file)}:{unit.lines.first}"
    return _quoted(f"{head}\n{words}")


def _quoted(text: str) -> str:
    r"""A DOT string: quotes and backslashes escaped (Graphviz interprets `\N`, `\l` and others), line ends as `\n`."""
    safe = "\n".join(escape_line(line) for line in text.split("\n"))
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
