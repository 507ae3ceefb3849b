import json

from skillsv.model.skill import Block, Extent, Leaf, Lines, Span, Unit, UnitKind
from skillsv.report.compiled_json import compiled_json
from skillsv.report.outline import outline, outline_text

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


def test_the_outline_is_complete_and_has_no_terminal_codes(tea):
    assert outline_text(tea()) == OUTLINE


def test_the_fragments_of_all_lines_make_the_outline(tea):
    joined = "\n".join("".join(text for text, _ in line) for line in outline(tea()))
    assert joined + "\n" == OUTLINE


def test_the_outline_has_no_empty_headings(tea):
    text = outline_text(tea(contractions=(), repairs=(), findings=(), edges=()))
    assert not {"Edges", "Contractions", "Repairs", "Resolution lost per rule", "Findings"} & set(text.split("\n"))


def test_outline_and_json_keep_a_file_name_that_is_not_unicode(tea):
    odd = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    extent = Extent(file=odd, span=Span(0, 1), lines=Lines(1, 1))
    units = (*tea().units[:3], Unit(id="r", kind=UnitKind.RESOURCE, extents=(extent,), form=""))
    named = tea(units=units, hierarchy=Block("tea", tuple(Leaf(unit.id) for unit in units)))
    assert "caf⟨U+DCE9⟩.md" in outline_text(named)
    assert json.loads(json.dumps(compiled_json(named)))["units"][3]["file"] == odd


def test_sections_may_nest_deeper_than_the_recursion_limit(tea):
    node = Leaf("m")
    for index in range(5000):
        node = Block(f"level {index}", (node,))
    deep = tea(units=tea().units[:1], edges=(), contractions=(), repairs=(), hierarchy=node)
    assert "level 0" in outline_text(deep)
    assert compiled_json(deep)["hierarchy"]["name"] == "level 4999"
