"""Texts that make patterns and parsers slow or deep: each one compiles, and no byte is lost."""

from __future__ import annotations

import pytest

_MANY = 50_000
"""Repetitions: enough to make a quadratic pattern take minutes."""

HOSTILE = {
    "one word": "a" * _MANY,
    "closing hashes": f"# {'#' * _MANY}x",
    "open brackets": "[" * _MANY,
    "open links": "[a](" * _MANY,
    "backticks": f"{'`' * _MANY}a`",
    "backticks of all lengths": "".join(f"{'`' * (n % 200 + 1)}a " for n in range(1000)),
    "backtick after a fence": f"```{'a' * _MANY}`",
    "dashes": f"{'- ' * _MANY}x",
    "quotes": ">" * _MANY,
    "list in one line": f"{'- ' * 3000}a",
    "deep list": "\n".join(f"{'  ' * n}- a" for n in range(300)),
    "pipes": "|" * _MANY,
    "slashes": "a/" * _MANY,
    "repeated headings": "## A b c d e\n\nx\n\n" * 2000,
    "repeated items": "- same\n" * 10_000,
    "open comments": "<!--\n\n" * 5000,
    "nested YAML": f"---\na: {'[' * 5000}\n---\nx",
    "nested Python": f"```python\nX_Y = {'(' * 5000}{')' * 5000}\n```\n\n`X_Y`",
    "nested shell": f"```bash\nX_Y=1\n{'$(' * 2000}\n```\n\n`X_Y`",
    "nested script": f"```js\nconst X_Y = {'(' * 3000}\n```\n\n`X_Y`",
    "open titles of links": "[a](b (" * _MANY,
    "underscores in a heading": f"# A{'_' * _MANY}b\n\nx",
    "spaces after a label": f"[a]:{' ' * _MANY}\n\n[a]",
    "repeated labels": f"[a]: b\n\n{'[a]' * _MANY}",
    "headings that name a file": "# A\n\n" + "- b\n" * 2000 + "\n## a/x.md, [x](a/x.md)\n" * 2000,
    "carriage returns": f"{chr(13) * _MANY}a",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_compiles_as_main_file_and_as_resource(compiled, name):
    text = HOSTILE[name]
    skill = compiled({"SKILL.md": text, "a/x.md": "x"})
    assert sum(len(piece.span) for piece in skill.layouts[0].pieces) == len(text)
    assert len(compiled({"SKILL.md": "x", "a/b.md": text, "a/x.md": "y"}).execution) == 3


def test_nested_yaml_aliases_are_not_expanded(compiled):
    levels = "\n".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]" for n in range(1, 30))
    skill = compiled(f"---\nname: x\nk0: &k0 [a]\n{levels}\n---\ntext\n")
    assert [unit.kind for unit in skill.units] == ["trigger", "block"]


def test_frontmatter_that_is_too_long_to_parse_is_kept(compiled):
    skill = compiled(f"---\nname: {'x' * 70_000}\n---\ntext\n")
    assert len(skill.units[0].span) > 70_000
    assert [finding.code for finding in skill.findings] == ["frontmatter-yaml"]
