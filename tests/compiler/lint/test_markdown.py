"""Checks of the Markdown text: headings, fences, tables, placeholders and length."""

import pytest

HEAD_LINES = 4
"""Lines of the frontmatter that the fixture puts before the body."""


@pytest.mark.parametrize(
    ("code", "body", "line"),
    [
        ("empty-heading", "# Tea\n\nBoil.\n\n## Cups\n", 5),
        ("empty-heading", "# Tea\n\n## Cups\n\n### Blue\n\n## Pots\n\nTwo.\n", 3),
        ("duplicate-heading", "# Tea\n\n## Cups\n\nOne.\n\n## Cups\n\nTwo.\n", 7),
        ("duplicate-heading", "# Tea\n\n## Cups\n\nOne.\n\n## **cups**\n\nTwo.\n", 7),
        ("glued-heading", "# Tea\n\n- Boil the water.## Cups\n", 3),
        ("glued-heading", "# Tea\n\n- Boil the water.\n## Cups\n\nTwo.\n", 4),
        ("broken-table", "# Tea\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nBoil.\n\n| 3 | 4 |\n", 9),
        ("heading-space", "# Tea\n\n##Cups\n\nTwo.\n", 3),
        ("accidental-heading", "# Tea\n\nBoil the water, then wait.\n---\n\nPour.\n", 4),
        ("accidental-heading", "# Tea\n\nBoil the water\nand wait\n---\n\nPour.\n", 5),
        ("accidental-heading", "# Tea\n\nSteps:\n---\n\nPour.\n", 4),
        ("accidental-heading", "# Tea\n\nBoil the water\nand wait\n===\n\nPour.\n", 5),
        ("unclosed-fence", "# Tea\n\n```python\nboil()\n", 3),
        ("unclosed-fence", "# Tea\n\n- Boil:\n\n  ```python\n  boil()\n\n- Pour.\n", 5),
        ("unclosed-fence", "# Tea\n\nBoil.\n\n```\n", 5),
        ("swallowed-fence", "# Tea\n\n```markdown\nSay:\n```python\nboil()\n```\nDone.\n```\n", 5),
        ("swallowed-fence", "# Tea\n\n<Good>\n```python\nboil()\n\npour()\n```\n</Good>\n", 4),
        ("placeholder-arguments", "# Tea\n\nMake tea for $ARGUMENTS now.\n", 3),
        ("placeholder-command", "# Tea\n\nToday: !`date`\n", 3),
        ("long-body", "# Tea\n\n" + "Boil.\n" * 500, 1),
        ("long-body", "# Tea\n\n" + "word " * 4001 + "\n", 1),
    ],
)
def test_a_defect_is_reported_at_its_line(places, code, body, line):
    assert places(code, body)[:1] == [("SKILL.md", HEAD_LINES + line)]


@pytest.mark.parametrize(
    "body",
    [
        "# Tea\n\n## Cups\n\n### Blue\n\nOne.\n",
        "# Tea\n\n## Cups\n\n### Notes\n\nOne.\n\n## Pots\n\n### Notes\n\nTwo.\n",
        "# Tea\n\nUse `x## Y` and C## not at all.\n",
        "# Tea\n## Cups\nTwo.\n\n---\n## Pots\nOne.\n",
        "# Tea\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c | d |\n|---|---|\n| 3 | 4 |\n",
        "# Tea\n\n#hashtag and #1 are words.\n",
        "# Tea\n\n```bash\n##Cups\nwater.## Cups\n$ echo !`date`\n```\n",
        "# Tea\n\nCups\n----\n\nTwo.\n",
        "# Tea\n\n````markdown\n```python\nboil()\n```\n````\n",
        "# Tea\n\n```markdown\n    ```python\n    boil()\n    ```\n```\n",
        "# Tea\n\n~~~\n```python\nboil()\n~~~\n",
        "# Tea\n\n> ```\n> boil\n> ```\n",
        "# Tea\n\n- Boil:\n  ```\n  x\n  ```\n- Pour.\n",
        "# Tea\n\n<Good>\n\n```sh\nboil\n```\n\n</Good>\n",
        "# Tea\n\nThis is great!`code` and $ARGUMENTSX.\n",
        b"# Tea\r\n\r\nBoil.\r\n",
    ],
)
def test_correct_text_that_looks_like_a_defect_is_accepted(lint, body):
    head = b"---\nname: tea\ndescription: Makes tea.\n---\n"
    crlf = isinstance(body, bytes)
    assert lint(body, head=(head.replace(b"\n", b"\r\n") if crlf else head).decode()) == ()


def test_resources_are_checked_for_fences_but_may_repeat_headings(lint):
    files = {
        "SKILL.md": "# Tea\n\nSee notes/heat.md.\n",
        "notes/heat.md": "# Heat\n\n## A\n\nx\n\n## A\n\n```sh\nboil\n",
    }
    assert [(finding.code, finding.file, finding.line) for finding in lint(files)] == [
        ("unclosed-fence", "notes/heat.md", 9)
    ]


def test_a_fence_that_is_read_as_html_is_reported_once(lint):
    body = "# Tea\n\n<Good>\n```python\na()\n\nb()\n```\n</Good>\n\n<Bad>\n```python\nc()\n```\n</Bad>\n"
    assert [finding.code for finding in lint(body)].count("swallowed-fence") == 1
