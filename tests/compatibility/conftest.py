"""Skills for the compatibility tests: the example, and three that hold every kind of unit and dependency."""

import json
import shutil
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "support-desk"

LINKED = {
    "SKILL.md": """\
---
name: linked
description: A skill whose units need files, definitions and lead-ins.
---
# Linked

Read [the rules](references/rules.md) first.

Follow these steps:

1. Run `scripts/count.py` on the input.
   - Use `TOTAL_LINES` as its limit.
2. Compare with `examples/good.txt`.

```bash
TOTAL_LINES=12
count_lines() { wc -l "$1"; }
```

```bash
count_lines input.txt
echo "$TOTAL_LINES"
```

| name | weight |
|------|-------:|
| a    |      1 |

| b    |      2 |
| c    |      3 |

## Notes

Word 0 means yes. See Linked Details for more.

## Linked Details

Word 1 means no.
""",
    "references/rules.md": "# Rules\n\nWord 2 means maybe.\n",
    "scripts/count.py": "LIMIT = 12\n\n\ndef count(path):\n    return len(open(path).readlines())\n",
    "examples/good.txt": "one\ntwo\n",
}

OPTIMIZED = {
    "SKILL.md": """\
# Answers

Word 0 means yes.

<!-- SLOW_UPDATE_START -->
## Learned

- Word 1 means no.
- Word 2 means maybe.
<!-- SLOW_UPDATE_END -->

Title of a setext heading
-------------------------

* first item
* second item

  continued

Word 3 means never.\r
Word 4 means always.
""",
}

CYCLIC = {
    "SKILL.md": """\
---
name: cyclic
description: >
  Two units that need each other, in two languages.
---
# Cyclic

```python
def first():
    return second()
```

```python
def second():
    return first()
```

The words are:

- Word 0 means yes.
- Word 1 means no.

> Word 2 means maybe.

<!-- a comment -->

Plain text with an é and a tab\there.
""",
    "a.py": "import b\n",
    "b.py": "import a\n",
    "data.bin": "\x00\x01\x02",
}

GENERATED = {"linked": LINKED, "optimized": OPTIMIZED, "cyclic": CYCLIC}

AGENT = '''\
"""Answers with the meaning that the skill gives to the word."""

import re


def answer(skill, task, replicate):
    text = "" if skill is None else skill.text
    meanings = dict(re.findall(r"Word (\\d) means (\\w+)", text))
    return meanings.get(task.input[-1], "nothing")
'''


def write_skill(name, folder):
    """One of the four skills, its tasks and an agent that follows it, written into `folder`."""
    skill = folder / name
    if name == "support-desk":
        shutil.copytree(EXAMPLE, skill, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(EXAMPLE / "evals", folder / "evals", ignore=shutil.ignore_patterns("__pycache__"))
        return skill, folder / "evals" / "tasks.jsonl", "python:evals/agent.py:answer"
    for path, text in GENERATED[name].items():
        file = skill / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    meanings = ["yes", "no", "maybe", "never", "always"]
    tasks = [
        {"id": f"t{n}", "input": f"What is word {n % 5}", "target": meanings[n % 5], "stratum": f"s{n % 5}"}
        for n in range(20)
    ]
    (folder / "tasks.jsonl").write_text("".join(f"{json.dumps({**task, 'verifier': 'exact'})}\n" for task in tasks))
    (folder / "agent.py").write_text(AGENT)
    return skill, folder / "tasks.jsonl", "python:agent.py:answer"


@pytest.fixture
def make_skill(tmp_path, monkeypatch):
    """Writes a skill into the working directory, so that what a run records of its agent names no other place."""
    monkeypatch.chdir(tmp_path)
    return lambda name: write_skill(name, tmp_path)
