"""Headings, fences, bytes, placeholders and length: what the Markdown itself gets wrong."""

import pytest

HEAD_LINES = 4


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
        ("unclosed-fence", "# Tea\n\n```python\nboil()\n", 3),
        ("unclosed-fence", "# Tea\n\n- Boil:\n\n  ```python\n  boil()\n\n- Pour.\n", 5),
        ("unclosed-fence", "# Tea\n\nBoil.\n\n```\n", 5),
        ("swallowed-fence", "# Tea\n\n```markdown\nSay:\n```python\nboil()\n```\nDone.\n```\n", 5),
        ("swallowed-fence", "# Tea\n\n<Good>\n```python\nboil()\n\npour()\n```\n</Good>\n", 4),
        ("placeholder-arguments", "# Tea\n\nMake tea for $ARGUMENTS now.\n", 3),
        ("placeholder-command", "# Tea\n\nToday: !`date`\n", 3),
        ("mixed-line-ends", b"# Tea\n\nBoil.\r\nPour.\nDrink.\n", 3),
        ("long-body", "# Tea\n\n" + "Boil.\n" * 500, 1),
        ("long-body", "# Tea\n\n" + "word " * 4001 + "\n", 1),
    ],
)
def test_a_defect_is_found_at_its_line(places, code, body, line):
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
def test_what_looks_alike_and_is_right_is_left_alone(lint, body):
    head = b"---\nname: tea\ndescription: Makes tea.\n---\n"
    crlf = isinstance(body, bytes)
    assert lint(body, head=(head.replace(b"\n", b"\r\n") if crlf else head).decode()) == ()


def test_a_byte_order_mark_is_found_in_any_markdown_file(places):
    files = {"SKILL.md": "# Tea\n\nSee notes/heat.md.\n", "notes/heat.md": b"\xef\xbb\xbf# Heat\n"}
    assert places("byte-order-mark", files) == [("notes/heat.md", 1)]


def test_references_are_read_for_broken_fences_but_may_repeat_headings(lint):
    files = {
        "SKILL.md": "# Tea\n\nSee notes/heat.md.\n",
        "notes/heat.md": "# Heat\n\n## A\n\nx\n\n## A\n\n```sh\nboil\n",
    }
    assert [(one.code, one.file, one.line) for one in lint(files)] == [("unclosed-fence", "notes/heat.md", 9)]


def test_the_end_of_a_fence_that_html_took_is_not_a_second_defect(lint):
    body = "# Tea\n\n<Good>\n```python\na()\n\nb()\n```\n</Good>\n\n<Bad>\n```python\nc()\n```\n</Bad>\n"
    assert [one.code for one in lint(body)].count("swallowed-fence") == 1
