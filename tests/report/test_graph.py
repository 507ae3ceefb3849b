import re
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Edge,
    Extent,
    FileRole,
    Leaf,
    Lines,
    Location,
    Repair,
    Skill,
    SkillFile,
    Span,
    Unit,
    UnitKind,
)
from skillsv.report.graph import RULE_STYLES, graph_svg, rule_label
from skillsv.report.graph_dot import graph_dot
from skillsv.report.graph_layout import BOX_HEIGHT, BOX_WIDTH, lay_out

SVG = "{http://www.w3.org/2000/svg}"
RULES = ("R1", "R2", "R3", "R4", "R7", "R8", "R9")
NASTY = '</title><script>alert("1")</script>\x00\x1b[2J\ud800 & \\N'


def make(blocks, edges, *, name="tea", words="- boil the water", repairs=()):
    """A skill with a section for each number of units in `blocks`; edges are between the numbers of units."""
    data = words.encode("utf-8", "surrogatepass") + b"\n"
    extent = Extent(file="SKILL.md", span=Span(0, len(data)), lines=Lines(1, 1))
    units = [Unit(id="m", kind=UnitKind.TRIGGER, form="frontmatter", extents=(extent,))]
    children = []
    for section, count in enumerate(blocks):
        fresh = [
            Unit(id=f"u{len(units) - 1 + index}", kind=UnitKind.ITEM, form="bullet", extents=(extent,))
            for index in range(count)
        ]
        units += fresh
        children.append(Block(f"{name} {section}", tuple(Leaf(unit.id) for unit in fresh)))
    at = Location(file="SKILL.md", line=3)
    made = [Edge(rule="R6", source=unit.id, target="m", evidence="") for unit in units[1:]]
    made += [
        Edge(rule=rule, source=f"u{a}", target=f"u{b}", evidence=f"{words} {a} {b}", at=at) for rule, a, b in edges
    ]
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=data, size=len(data), digest="")
    return CompiledSkill(
        skill=Skill(name=name, root=Path("tea"), main="SKILL.md", files=(main,)),
        options={},
        trigger="m",
        units=tuple(units),
        edges=tuple(made),
        hierarchy=Block(name, (Leaf("m"), *children)),
        sections=(),
        layouts=(),
        repairs=repairs,
    )


@st.composite
def skills(draw):
    blocks = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    rank = draw(st.permutations(range(sum(blocks))))
    pairs = st.tuples(st.sampled_from(RULES), st.integers(0, len(rank) - 1), st.integers(0, len(rank) - 1))
    drawn = draw(st.lists(pairs, max_size=25, unique=True))
    # Edges only ever lead to a unit of lower rank, so there is no cycle.
    return make(blocks, [(rule, a, b) for rule, a, b in drawn if rank[a] > rank[b]])


@settings(max_examples=60, deadline=None)
@given(skills())
def test_no_line_is_behind_a_box_and_no_two_trunks_share_a_track(compiled):
    drawing = lay_out(compiled, top=0)
    boxes = {box.unit: box for box in drawing.boxes}
    assert set(boxes) == {unit.id for unit in compiled.units}
    assert len({box.y for box in drawing.boxes}) == len(boxes)
    for trunk in drawing.trunks:
        reach = [trunk.end, *(branch.height for branch in trunk.branches)]
        for box in drawing.boxes:
            in_column = box.x < trunk.x < box.x + BOX_WIDTH
            assert not (in_column and min(reach) < box.y + BOX_HEIGHT and box.y < max(reach))
        for branch in trunk.branches:
            source = boxes[branch.edge.source]
            assert trunk.x < branch.start == source.x
            assert source.y <= branch.height <= source.y + BOX_HEIGHT
    spans = [
        (
            trunk.x,
            min([trunk.end, *(b.height for b in trunk.branches)]),
            max([trunk.end, *(b.height for b in trunk.branches)]),
        )
        for trunk in drawing.trunks
    ]
    for index, (x, low, high) in enumerate(spans):
        assert all(x != other or high < start or stop < low for other, start, stop in spans[index + 1 :])


@settings(max_examples=25, deadline=None)
@given(skills())
def test_every_content_edge_is_drawn_once_with_its_evidence(compiled):
    content = [edge for edge in compiled.edges if edge.rule != "R6"]
    drawn = [branch.edge for trunk in lay_out(compiled, top=0).trunks for branch in trunk.branches]
    assert sorted(map(repr, drawn)) == sorted(map(repr, content))
    titles = [node.text or "" for node in ET.fromstring(graph_svg(compiled)).iter(f"{SVG}title")]
    for edge in content:
        words = f"{rule_label(edge.rule)}\n{edge.source} needs {edge.target}\n{edge.evidence}\nSKILL.md:3"
        assert titles.count(words) == 1


def test_sections_are_nested_lanes_that_hold_their_units():
    base = make([2, 1], [])
    inner = Block("inner", (Leaf("u1"),))
    nested = Block("tea", (Leaf("m"), Block("outer", (Leaf("u0"), inner)), Block("last", (Leaf("u2"),))))
    drawing = lay_out(CompiledSkill(**{**vars_of(base), "hierarchy": nested}), top=10)
    lanes = {lane.name: lane for lane in drawing.lanes}
    box = next(box for box in drawing.boxes if box.unit == "u1")
    for name in ("outer", "inner"):
        lane = lanes[name]
        assert lane.x < box.x
        assert box.x + BOX_WIDTH < lane.x + lane.width
        assert lane.y < box.y
        assert box.y + BOX_HEIGHT < lane.y + lane.height
    assert lanes["outer"].y + lanes["outer"].height < lanes["last"].y
    assert lanes["outer"].x < lanes["inner"].x


def vars_of(compiled):
    names = ("skill", "options", "trigger", "units", "edges", "hierarchy", "sections", "layouts", "repairs")
    return {name: getattr(compiled, name) for name in names}


def test_text_of_a_skill_cannot_become_markup():
    svg = graph_svg(
        make([2], [("R3", 1, 0)], name=NASTY, words=NASTY, repairs=(Repair(node=NASTY, expanded=NASTY, cycle=()),))
    )
    assert "<script" not in svg
    tags = {node.tag.removeprefix(SVG) for node in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "title", "rect", "text", "tspan", "path"}
    assert not re.search(r"(?:href|src|on\w+)=|url\(|@import", svg)


def test_long_words_are_cut_to_the_width_of_the_box():
    svg = ET.fromstring(graph_svg(make([1], [], words="MWMW " * 40)))
    label = next(node for node in svg.iter(f"{SVG}text") if "MWMW" in "".join(node.itertext()))
    text = "".join(label.itertext())
    assert text.endswith("…")
    assert len(text) * 9 < BOX_WIDTH + 40


def test_the_legend_names_only_rules_and_kinds_that_occur():
    svg = graph_svg(make([3], [("R4", 1, 0), ("R9", 2, 0)]))
    shown = {style_rule for style_rule in RULE_STYLES if f">{rule_label(style_rule)}<" in svg}
    assert shown == {"R4", "R9"}
    assert ">item<" in svg
    assert ">composite<" not in svg


def test_repairs_beyond_the_limit_are_counted():
    repairs = tuple(Repair(node="tea", expanded=f"block {index}", cycle=(), rules=("R3",)) for index in range(11))
    svg = graph_svg(make([1], [], repairs=repairs))
    assert "Opened: block 7 in tea (R3)" in svg
    assert "block 8" not in svg
    assert "and 3 more blocks opened" in svg


STRING = r'"(?:[^"\\\n]|\\.)*"'
DOT_ID = rf"(?:{STRING}|[A-Za-z_]\w*|-?\d+(?:\.\d+)?)"
ATTRIBUTES = rf"\[{DOT_ID}={DOT_ID}(?:, {DOT_ID}={DOT_ID})*\]"
DOT_LINE = re.compile(
    rf"digraph {STRING} {{|subgraph cluster_\d+ {{ label={STRING};|}}|(?:\w+=\w+;? ?)+|"
    rf"(?:graph|node|edge) {ATTRIBUTES};|{STRING} {ATTRIBUTES};|{STRING} -> {STRING} {ATTRIBUTES};"
)


@settings(max_examples=25, deadline=None)
@given(skills())
def test_dot_is_well_formed_and_complete(compiled):
    lines = [line.strip() for line in graph_dot(compiled).splitlines()]
    assert [line for line in lines if not DOT_LINE.fullmatch(line)] == []
    assert sum(line.count("{") - line.count("}") for line in lines if not line.startswith('"')) == 0
    assert sum(" -> " in line.split("[")[0] for line in lines) == len(compiled.edges)
    assert sum(bool(re.match(rf"{STRING} \[label", line)) for line in lines) == len(compiled.units)


def test_dot_quotes_sequences_that_graphviz_would_interpret():
    text = graph_dot(make([2], [("R3", 1, 0)], name=NASTY, words=NASTY))
    assert [line for line in text.splitlines() if not DOT_LINE.fullmatch(line.strip())] == []
    assert "\\\\N" in text
    text.encode("utf-8")
