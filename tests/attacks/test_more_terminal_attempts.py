"""Twenty more texts of an agent that try to drive the terminal or to become part of the report page.

The agent answers with the text, and a task has it as its input. No output of a command may hold a control character, and the
page may hold neither the markup nor a script of the agent.
"""

import html.parser
import json
import re

import pytest

from skillsv.cli import run

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

TERMINAL = {
    "colour": "\x1b[31mred",
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "link": "\x1b]8;;http://evil\x1b\\x",
    "clear": "\x1b[2J\x1b[H",
    "8-bit escape": "\x9b31m",
    "device string": "\x90q\x9c",
    "backspace": "safe\x08\x08\x08\x08evil",
    "carriage return": "evil\rsafe",
    "right to left": "\u202eevil\u202c",
    "isolate": "\u2066evil\u2069",
    "bell": "\a" * 10,
    "answerback": "\x05",
}

MARKUP = {
    "script": "<script>owned()</script>",
    "end of a script": "</script><script>owned()</script>",
    "image": "<img src=x onerror=owned()>",
    "attribute": '"><svg onload=owned()>',
    "comment": "--><script>owned()</script><!--",
    "template": "{{ 7 * 7 }}{% raw %}",
    "entity": "&lt;script&gt;owned()&lt;/script&gt;<iframe srcdoc='<script>owned()</script>'>",
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/SKILL.md").write_text("# Words\n\n- Say `alpha`.\n- Mumble.\n")
    return tmp_path


def value(place, text):
    (place / "agent.py").write_text(
        f"import sys\nTEXT = {text!r}\n"
        "def answer(skill, task, replicate):\n    print(TEXT, file=sys.stderr)\n    print(TEXT)\n"
        "    return TEXT + (' alpha' if skill and 'alpha' in skill.text else '')\n"
    )
    task = {"input": f"? {text}", "target": "alpha", "verifier": "contains", "stratum": text}
    (place / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(4)))
    words = ["--tasks", f"{place}/tasks.jsonl", "--agent", f"python:{place}/agent.py:answer", "-k", "1", "-b", "2"]
    return run(["value", f"{place}/tiny", *words, "--panel-b", "0", "--yes", "--run-dir", f"{place}/run"])


class Page(html.parser.HTMLParser):
    """What a browser would see of the page: its elements and the handlers in their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.handlers, self.scripts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]

    def handle_data(self, data):
        if self.elements and self.elements[-1] == "script":
            self.scripts.append(data)


@pytest.mark.parametrize("text", TERMINAL.values(), ids=TERMINAL)
def test_texts_of_an_agent_do_not_drive_the_terminal(place, capfd, text):
    assert value(place, text) == 0
    for words in (["status"], ["report"], ["report", "--format", "markdown"]):
        run([*words, str(place / "run")])
    printed = capfd.readouterr()
    assert CONTROL.findall(printed.out + printed.err) == []


@pytest.mark.parametrize("text", MARKUP.values(), ids=MARKUP)
def test_texts_of_an_agent_do_not_become_part_of_the_page(place, text):
    assert value(place, text) == 0
    page = Page((place / "run/report.html").read_text())
    assert page.handlers == []
    assert not {"img", "iframe", "object", "embed"} & set(page.elements)
    code = [script for script in page.scripts if "owned()" in script]
    assert all(json.loads(script) is not None for script in code), "only data, which is no program"
