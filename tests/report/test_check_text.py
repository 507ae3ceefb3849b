"""Markdown of a check: whatever a skill, a task or an agent says is shown to the letter and does nothing."""

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from skillsv.report.check_text import check_lines, check_markdown
from skillsv.report.markdown import code

ATTACKS = (
    "<!-- skillsv-check --><script>alert(1)</script>",
    "[click](https://evil.example) ![x](https://evil.example/x.png)",
    "| a | b |\n|---|---|\n| cell | broken |",
    "`code` ``` fence\n```\n# heading",
    "@octocat closes #12 GH-3 https://evil.example www.evil.example a@evil.example",
    "</code></td></table><img src=x onerror=alert(1)>",
    "&lt;b&gt; &#60;b&#62; \\",
    "::set-output name=verdict::no worse\n::error::x",
    "\x1b[31mred\x1b[0m \u202egnp\u202c",
    "- [ ] task\n1. item\n> quote\n---\n",
)


class Reader(HTMLParser):
    """All tags with their attributes, and the texts inside and outside of code."""

    def __init__(self):
        super().__init__()
        self.tags, self.inside, self.outside, self.depth = [], [], [], 0

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))
        self.depth += tag == "code"
        if tag == "code":
            self.inside.append("")

    def handle_endtag(self, tag):
        self.depth -= tag == "code"

    def handle_data(self, data):
        if self.depth:
            self.inside[-1] += data
        else:
            self.outside.append(data)

    def handle_comment(self, data):
        self.tags.append(("comment", data))


def document(text):
    score = {"value": 0.5, "low": 0.4, "high": 0.6}
    return {
        "schema": "skillsv.check/1", "base": text, "commit": "0" * 40, "outcome": "worse", "claim": "tasks like these", "max_drop": 0.05, "level": 0.95,
        "skills": [
            {
                "path": text, "folder": text, "name": text, "status": "changed", "outcome": "worse", "tokens_before": 9, "tokens_after": 7,
                "units_before": 3, "units_after": 2, "too_long": False, "error": text, "notes": [text],
                "edits": [{"kind": "deleted", "file": text, "base_lines": (3, 3), "lines": None, "at": 3, "text": text, "new_text": ""}],
                "findings": [{"code": "dead-file", "severity": "error", "message": text, "file": text, "line": 1, "new": True}],
                "proof": {
                    "tasks": 1, "pairs": 1, "old": score, "new": score, "delta": score, "at_worst": -0.6, "at_best": -0.1,
                    "lost": [{"task": text, "old": 1.0, "new": 0.0, "pairs": 1}], "gained": [],
                },
            }
        ],
        "rollouts": {"budget": 4, "new": 2, "reused": 2, "usd": 0.5}, "exit_code": 3, "notes": [text],
    }  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_untrusted_text_changes_nothing_but_itself(attack):
    """The structure is that of a harmless text, and outside of code nothing differs."""
    pages = []
    for text in (attack, "harmless"):
        page = Reader()
        page.feed(MarkdownIt("gfm-like", {"html": True}).render(check_markdown(document(text))))
        pages.append(page)
    assert pages[0].tags == pages[1].tags
    assert pages[0].outside == pages[1].outside
    assert {tag for tag, _ in pages[0].tags} <= {
        "h2",
        "p",
        "ul",
        "li",
        "strong",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    words = re.sub(r"\s+", " ", attack).strip()
    if words.isprintable():
        assert words in pages[0].inside


@pytest.mark.parametrize("attack", ATTACKS)
def test_markdown_holds_no_control_character_and_no_command_line(attack):
    text = check_markdown(document(attack))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)
    assert not any(line.startswith("::") for line in text.splitlines())


def test_long_text_is_cut():
    assert len(code("<" * 10_000)) < 1_000


def test_lines_name_the_change_and_the_task():
    lines = "\n".join(check_lines(document("words")))
    assert "Worse: of 1 changed skill, at least one loses more than 5 points on these tasks." in lines
    assert "Task words: score 1 before, 0 now." in lines
    assert "Deleted line 3 of the base in words: words" in lines
    assert "Rollouts: 2 new, $0.50, 2 reused, of at most 4." in lines
