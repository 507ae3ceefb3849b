"""Sentences of a description, and frontmatter with another description."""

import pytest

from skillsv.model.description import replace_description, split_sentences
from skillsv.model.frontmatter import read_frontmatter


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Draws charts. Use for sales, e.g. bars. Not for maps!", ("Draws charts.", "Use for sales, e.g. bars.", "Not for maps!")),
        ("One sentence", ("One sentence",)),
        ("Reads .xlsx files, v1.2 too.  Then\n  writes. them", ("Reads .xlsx files, v1.2 too.", "Then writes. them")),
        ('Say "yes." Then go. 3 times.', ('Say "yes."', "Then go.", "3 times.")),
        ("画图。不画地图。", ("画图。", "不画地图。")),
        ("", ()),
    ],
)  # fmt: skip
def test_split_sentences(text, sentences):
    assert split_sentences(text) == sentences


HEADS = [
    "name: a\ndescription: Plain text here.\nlicense: MIT\n",
    "name: a\ndescription: Plain text\n  over two lines.\nlicense: MIT\n",
    "name: a\ndescription: 'Quoted: text.'\n",
    'description: "Double \\" quoted"\nname: a\n',
    "name: a\ndescription: >\n  Folded\n  text.\n\nlicense: MIT\n",
    "name: a\ndescription: |-\n  Block\n  text.\nlicense: MIT\n",
    "# a comment: description\nname: a # b\ndescription: Text. # c\n",
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("new", ["", 'Use it: "now", é # not a comment\\', "One. Two."])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_description_changes(head, new, end):
    text = f"---\n{head}---\n\n# Body\n\ndescription: stays\n".replace("\n", end)
    changed = replace_description(text, new)
    found = read_frontmatter(changed.replace("\r\n", "\n").split("\n"))
    before = read_frontmatter(text.replace("\r\n", "\n").split("\n"))
    assert (found.description or "") == new
    assert found.name == "a"
    assert found.values("license") == before.values("license")
    assert changed.endswith(f"---{end}{end}# Body{end}{end}description: stays{end}")


def test_a_skill_without_description_is_refused():
    with pytest.raises(ValueError, match="no description"):
        replace_description("---\nname: a\n---\n", "x")
