"""The compiled skill as an outline: what `skillsv compile` prints.

The outline is a sequence of lines, each a tuple of (text, style) fragments. Joined they are plain text; `rich` accepts
them as they are. Styles are names of rich styles; this module does not import rich.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from skillsv.model.format import plural
from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Contraction,
    Edge,
    Finding,
    Leaf,
    Repair,
    Severity,
    SkillFile,
    Unit,
    UnitKind,
)
from skillsv.report.compiled_json import resolution_lost
from skillsv.report.escape import escape_line, shorten
from skillsv.report.sentences import files_by_path, first_words, location

Fragment = tuple[str, str]
"""Text and its style."""

Line = tuple[Fragment, ...]

_SEVERITY_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def outline_text(compiled: CompiledSkill) -> str:
    """The outline as plain text, ending in a newline."""
    return "".join("".join(text for text, _ in line) + "\n" for line in outline(compiled))


def outline(compiled: CompiledSkill) -> Iterator[Line]:
    """The outline, line by line: counts, tree, edges with evidence, contractions, repairs, losses, findings."""
    yield from _summary(compiled)
    yield from _titled("Tree", _tree(compiled))
    yield from _titled("Edges", _edges(compiled))
    yield from _titled("Contractions", (line for c in compiled.contractions for line in _contraction(c)))
    yield from _titled("Repairs", (line for repair in compiled.repairs for line in _repair(repair)))
    yield from _titled("Resolution lost per rule", _losses(compiled))
    yield from _titled("Findings", finding_lines(compiled.findings))


def _titled(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    body = list(lines)
    if body:
        yield ()
        yield ((title, "bold"),)
        yield from body


def _summary(compiled: CompiledSkill) -> Iterator[Line]:
    content = sum(edge.rule != "R6" for edge in compiled.edges)
    yield ((escape_line(compiled.skill.name), "bold"), (f"  {escape_line(compiled.skill.main)}", "dim"))
    yield (
        (plural(len(compiled.execution), "execution unit"), "bold"),
        (f", n = {len(compiled.units)} with the trigger", ""),
    )
    parts = [
        plural(content, "content edge"),
        plural(len(compiled.contractions), "contraction"),
        plural(len(compiled.repairs), "repair"),
        plural(len(compiled.findings), "finding"),
    ]
    yield ((", ".join(parts), ""),)
    # The marker pairs are long and rarely changed; the JSON has them.
    shown = {name: value for name, value in compiled.options.items() if value and name != "markers"}
    chosen = ", ".join(f"{name} {_setting(value)}" for name, value in shown.items())
    yield ((f"{chosen}; digest {compiled.digest[:16]}" if chosen else f"digest {compiled.digest[:16]}", "dim"),)


def _setting(value: object) -> str:
    if isinstance(value, str):
        return escape_line(value)
    if isinstance(value, Iterable):
        return " ".join(_setting(part) for part in value)
    return escape_line(str(value))


def _tree(compiled: CompiledSkill) -> Iterator[Line]:
    files = files_by_path(compiled)
    units = compiled.unit
    # A stack instead of recursion: sections may nest deeper than Python's recursion limit.
    stack: list[tuple[Block | Leaf, str, str]] = [
        (child, *branches) for child, branches in _with_branches(compiled.hierarchy, "")
    ]
    while stack:
        node, branch, below = stack.pop()
        if isinstance(node, Leaf):
            yield from _unit_lines(units[node.unit], files, branch, below)
        else:
            yield ((branch, "dim"), (escape_line(node.name), "bold blue"))
            stack.extend((child, *branches) for child, branches in _with_branches(node, below))


def _with_branches(block: Block, below: str) -> list[tuple[Block | Leaf, tuple[str, str]]]:
    """The children in reverse, for a stack, each with the branch drawn before it and before the lines below it."""
    last = len(block.children) - 1
    branches = [
        (below + ("└─ " if index == last else "├─ "), below + ("   " if index == last else "│  "))
        for index in range(last + 1)
    ]
    return list(zip(block.children, branches, strict=True))[::-1]


def _unit_lines(unit: Unit, files: Mapping[str, SkillFile], branch: str, below: str) -> Iterator[Line]:
    kind = unit.kind if unit.form in {"", unit.kind} else f"{unit.kind}:{unit.form}"
    flags = "".join(f" [{escape_line(flag)}]" for flag in unit.flags)
    yield (
        (branch, "dim"),
        (escape_line(unit.id), "cyan"),
        (f"  {kind}", "green"),
        (f"  {location(unit.extents[0])}", "dim"),
        (f"  {first_words(unit, files)}".rstrip(), ""),
        (flags, "yellow"),
    )
    if unit.kind is UnitKind.COMPOSITE:
        for extent in unit.extents[1:]:
            yield ((f"{below}  + ", "dim"), (location(extent), "dim"))


def _edges(compiled: CompiledSkill) -> Iterator[Line]:
    by_rule: dict[str, list[Edge]] = {}
    for edge in compiled.edges:
        by_rule.setdefault(edge.rule, []).append(edge)
    for rule in sorted(by_rule):
        edges = by_rule[rule]
        if rule == "R6":
            yield (("  R6", "magenta"), (f"  {plural(len(edges), 'unit')} -> {escape_line(compiled.trigger)}", ""))
        else:
            yield from (_edge_line(edge) for edge in edges)


def _edge_line(edge: Edge) -> Line:
    return (
        (f"  {edge.rule}", "magenta"),
        (f"  {escape_line(edge.source)} -> {escape_line(edge.target)}", ""),
        (f"  {shorten(escape_line(edge.evidence), 120)}".rstrip(), "italic"),
        (_edge_places(edge), "dim"),
    )


def _edge_places(edge: Edge) -> str:
    places = [escape_line(str(at)) for at in (edge.at, edge.target_at) if at is not None]
    return f"  ({' -> '.join(places)})" if places else ""


def _contraction(contraction: Contraction) -> Iterator[Line]:
    rules = " ".join(contraction.rules)
    yield (
        (f"  {escape_line(contraction.unit)}", "cyan"),
        (f"  {plural(len(contraction.members), 'unit')} kept or removed together, because of {rules}", ""),
    )
    yield from (((f"    {escape_line(member)}", ""),) for member in contraction.members)
    yield from ((("    because", "dim"), *_edge_line(edge)) for edge in contraction.edges)


def _repair(repair: Repair) -> Iterator[Line]:
    cycle = " -> ".join(escape_line(name) for name in (*repair.cycle, *repair.cycle[:1]))
    yield (
        (f"  {escape_line(repair.expanded)}", "blue"),
        (f"  opened in {escape_line(repair.node)}", ""),
        (f"  ({' '.join(repair.rules)})" if repair.rules else "", "magenta"),
    )
    yield ((f"    witness: {cycle}", "dim"),)


def _losses(compiled: CompiledSkill) -> Iterator[Line]:
    for rule, loss in resolution_lost(compiled).items():
        parts = [f"{plural(loss.merged, 'unit')} merged"] if loss.merged else []
        parts += [f"{plural(loss.expanded, 'block')} opened"] if loss.expanded else []
        yield ((f"  {rule}", "magenta"), (f"  {', '.join(parts)}", ""))


def finding_lines(findings: Iterable[Finding], folder: str = "") -> Iterator[Line]:
    """One line per finding in the form that editors and terminals recognise: location, severity, code, message."""
    for finding in findings:
        yield (
            (f"{escape_line(folder + finding.file)}:{finding.line}: ", "dim"),
            (finding.severity, _SEVERITY_STYLE[finding.severity]),
            (f" {finding.code}", "magenta"),
            (f" {escape_line(finding.message)}", ""),
        )
