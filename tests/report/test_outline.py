import json
from pathlib import Path

from skillsv.model.skill import (
    Block,
    CompiledSkill,
    Contraction,
    Edge,
    Extent,
    FileRole,
    Finding,
    Leaf,
    Lines,
    Location,
    Repair,
    Severity,
    Skill,
    SkillFile,
    Span,
    Unit,
    UnitKind,
)
from skillsv.report.compiled_json import compiled_json, resolution_lost
from skillsv.report.outline import outline, outline_text

TEXT = b"---\nname: tea\n---\n# Tea\n- Boil \x1b[31mwater\n- Pour\n- Drink it while it is hot\n"


def unit(name, kind, start, end, first, last, *more, form="", section=(), members=(), flags=(), file="SKILL.md"):
    here = Extent(file=file, span=Span(start, end), lines=Lines(first, last))
    return Unit(id=name, kind=kind, form=form, extents=(here, *more), section=section, members=members, flags=flags)


def example(**changes):
    notes = SkillFile(path="notes/heat.md", role=FileRole.RESOURCE, data=b"x" * 17_600, size=17_600, digest="d2")
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=TEXT, size=len(TEXT), digest="d1")
    second = Extent(file="SKILL.md", span=Span(42, 49), lines=Lines(6, 6))
    edge = Edge(
        rule="R8",
        source="a",
        target="b",
        evidence="marker “-”",
        at=Location(file="SKILL.md", line=5),
        target_at=Location(file="SKILL.md", line=6),
    )
    base = {
        "skill": Skill(name="tea", root=Path("tea"), main="SKILL.md", files=(main, notes)),
        "options": {
            "granularity": "block",
            "without": ["R3"],
            "include": [],
            "markers": [["<!-- A -->", "<!-- B -->"]],
        },
        "trigger": "m",
        "units": (
            unit("m", UnitKind.TRIGGER, 0, 18, 1, 3, form="frontmatter"),
            unit("c", UnitKind.COMPOSITE, 24, 42, 5, 5, second, form="composite", section=("Tea",), members=("a", "b")),
            unit("d", UnitKind.ITEM, 49, 76, 7, 7, form="bullet", section=("Tea",), flags=("odd",)),
            unit("notes/heat.md", UnitKind.RESOURCE, 0, 17_600, 1, 1, form="markdown", file="notes/heat.md"),
        ),
        "edges": (
            Edge(rule="R6", source="c", target="m", evidence="every unit needs the trigger"),
            Edge(rule="R6", source="d", target="m", evidence="every unit needs the trigger"),
            Edge(rule="R9", source="d", target="c", evidence="lead-in", at=Location(file="SKILL.md", line=7)),
        ),
        "hierarchy": Block("tea", (Leaf("m"), Block("Tea", (Leaf("c"), Leaf("d"))), Leaf("notes/heat.md"))),
        "sections": (),
        "layouts": (),
        "contractions": (Contraction(unit="c", members=("a", "b"), rules=("R3", "R8"), edges=(edge,)),),
        "repairs": (Repair(node="tea", expanded="Tea", cycle=("Tea", "notes"), rules=("R3",)),),
        "findings": (Finding(code="nul", severity=Severity.WARNING, message="Byte 4.", file="SKILL.md", line=2),),
        "digest": "0123456789abcdef0123",
    }
    return CompiledSkill(**{**base, **changes})


OUTLINE = """\
tea  SKILL.md
3 execution units, n = 4 with the trigger
1 content edge, 1 contraction, 1 repair, 1 finding
granularity block, without R3; digest 0123456789abcdef

Tree
├─ m  trigger:frontmatter  SKILL.md:1-3  --- name: tea ---
├─ Tea
│  ├─ c  composite  SKILL.md:5  - Boil ␛[31mwater
│  │    + SKILL.md:6
│  └─ d  item:bullet  SKILL.md:7  - Drink it while it is hot [odd]
└─ notes/heat.md  resource:markdown  notes/heat.md:1  17.6 kB

Edges
  R6  2 units -> m
  R9  d -> c  lead-in  (SKILL.md:7)

Contractions
  c  2 units kept or removed together, because of R3 R8
    a
    b
    because  R8  a -> b  marker “-”  (SKILL.md:5 -> SKILL.md:6)

Repairs
  Tea  opened in tea  (R3)
    witness: Tea -> notes -> Tea

Resolution lost per rule
  R3  2 units merged, 1 block opened
  R8  2 units merged

Findings
SKILL.md:2: warning nul Byte 4.
"""


def test_the_outline_says_everything_and_lets_no_terminal_code_through():
    assert outline_text(example()) == OUTLINE


def test_fragments_of_a_line_are_the_line():
    joined = "\n".join("".join(text for text, _ in line) for line in outline(example()))
    assert joined + "\n" == OUTLINE


def test_a_skill_without_troubles_has_no_empty_headings():
    text = outline_text(example(contractions=(), repairs=(), findings=(), edges=()))
    assert not {"Edges", "Contractions", "Repairs", "Resolution lost per rule", "Findings"} & set(text.split("\n"))


def test_resolution_lost_counts_each_rule_of_each_cycle():
    lost = {rule: (loss.merged, loss.expanded) for rule, loss in resolution_lost(example()).items()}
    assert lost == {"R3": (2, 1), "R8": (2, 0)}


def test_json_has_the_promised_form():
    made = compiled_json(example())
    assert made["schema"] == "skillsv.compiled/1"
    assert (made["trigger"], made["n"], made["execution_units"]) == ("m", 4, 3)
    assert made["units"][1] == {
        "id": "c",
        "kind": "composite",
        "form": "composite",
        "file": "SKILL.md",
        "span": [24, 42],
        "lines": [5, 5],
        "section": ["Tea"],
        "members": ["a", "b"],
        "flags": [],
        "extents": [
            {"file": "SKILL.md", "span": [24, 42], "lines": [5, 5]},
            {"file": "SKILL.md", "span": [42, 49], "lines": [6, 6]},
        ],
    }
    assert made["edges"][2] == {
        "rule": "R9",
        "source": "d",
        "target": "c",
        "evidence": "lead-in",
        "at": {"file": "SKILL.md", "line": 7},
        "target_at": None,
    }
    assert made["hierarchy"] == {
        "name": "tea",
        "children": [
            {"unit": "m"},
            {"name": "Tea", "children": [{"unit": "c"}, {"unit": "d"}]},
            {"unit": "notes/heat.md"},
        ],
    }
    assert made["contractions"][0]["members"] == ["a", "b"]
    assert made["repairs"] == [{"node": "tea", "expanded": "Tea", "cycle": ["Tea", "notes"], "rules": ["R3"]}]
    assert made["resolution_lost"] == {"R3": {"merged": 2, "expanded": 1}, "R8": {"merged": 2, "expanded": 0}}
    assert made["findings"] == [
        {"code": "nul", "severity": "warning", "message": "Byte 4.", "file": "SKILL.md", "line": 2}
    ]
    assert made["options"]["markers"] == [["<!-- A -->", "<!-- B -->"]]
    assert made["digest"] == "0123456789abcdef0123"
    assert json.loads(json.dumps(made)) == made


def test_a_file_name_that_is_no_unicode_is_shown_and_comes_back_from_json():
    odd = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    base = example()
    units = (*base.units[:3], unit("r", UnitKind.RESOURCE, 0, 1, 1, 1, file=odd))
    named = example(units=units, hierarchy=Block("tea", tuple(Leaf(one.id) for one in units)))
    assert "caf⟨U+DCE9⟩.md" in outline_text(named)
    assert json.loads(json.dumps(compiled_json(named)))["units"][3]["file"] == odd


def test_folders_may_nest_deeper_than_the_stack():
    node = Leaf("m")
    for index in range(5000):
        node = Block(f"level {index}", (node,))
    deep = example(units=example().units[:1], edges=(), contractions=(), repairs=(), hierarchy=node)
    assert "level 0" in outline_text(deep)
    assert compiled_json(deep)["hierarchy"]["name"] == "level 4999"
