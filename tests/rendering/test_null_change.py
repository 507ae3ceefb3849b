"""Null changes: a rendering of its own with the same units, read by Markdown as the same blocks."""

import pytest

from skillsv.compiler import compile_files
from skillsv.model.coalition import Operator
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.rendering import Renderer
from skillsv.rendering.document import file_digest

TEXT = b"""---
name: demo
description: A demo.
---

# Demo

Read this first:

- one
- two
  - nested

1. step

```python
x = 1

y = 2
```

| a | b |
|---|---|
| 1 | 2 |

The end.
"""


def compiled_skill(tmp_path, text=TEXT):
    main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=text, size=len(text), digest=file_digest(text))
    return compile_files(Skill(name="demo", root=tmp_path, main="SKILL.md", files=(main,)))


@pytest.mark.heavy
@pytest.mark.parametrize("operator", list(Operator))
def test_null_changes_have_their_own_digests_and_keep_every_unit(tmp_path, operator):
    compiled = compiled_skill(tmp_path)
    renderer = Renderer(compiled)
    for coalition in (compiled.everything, compiled.closure(frozenset(compiled.execution[2:5]) | {compiled.trigger})):
        plain = renderer.render(coalition, operator)
        changed = [renderer.render(coalition, operator, number) for number in range(1, 40)]
        assert len({plain.digest, *(rendering.digest for rendering in changed)}) == 40
        assert renderer.render(coalition, operator, 3).digest == changed[2].digest
        for rendering in changed:
            assert is_inside(plain.contents["SKILL.md"], rendering.contents["SKILL.md"])
            kinds = [flag for flag in rendering.flags if flag.startswith("changed-kind")]
            assert kinds == [flag for flag in plain.flags if flag.startswith("changed-kind")]


def is_inside(plain, changed):
    """Whether one piece was inserted into the plain bytes, and nothing else changed."""
    extra = len(changed) - len(plain)
    return extra > 0 and any(changed[:place] + changed[place + extra :] == plain for place in range(len(plain) + 1))


def test_a_null_change_leaves_code_blocks_and_tables_whole(tmp_path):
    compiled = compiled_skill(tmp_path)
    renderer = Renderer(compiled)
    for number in range(1, 40):
        text = renderer.render(compiled.everything, Operator.DELETE, number).text
        assert "x = 1\n\ny = 2\n" in text
        assert "| a | b |\n|---|---|\n| 1 | 2 |\n" in text


def test_the_rendering_without_a_null_change_is_the_original(tmp_path):
    compiled = compiled_skill(tmp_path)
    assert Renderer(compiled).render(compiled.everything, Operator.DELETE, 0).contents["SKILL.md"] == TEXT
    assert Renderer(compiled).render(frozenset(), Operator.DELETE, 1).empty
