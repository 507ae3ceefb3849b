"""How long compilation takes, as multiples of merely parsing the same Markdown in the same run.

Run `python -m perf compile`; the corpus figure needs the folder `shared` beside the repository.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from markdown_it import MarkdownIt

from skillsv.cli import run
from skillsv.compiler import compile_skill

CORPUS = Path(__file__).resolve().parents[1] / "../shared/corpus"
"""The folder of real skills beside the repository."""

ITEMS = 300_000
"""List items of the huge document."""

GROWTH = 20_000
"""Repetitions in the shorter of two texts whose times are compared."""

RESOURCES = 700
"""Resources of the skill with many files."""


def corpus_against_parser() -> list[tuple[str, float, str]]:
    """The whole corpus compiled, against markdown-it-py parsing its Markdown files: best of three each."""
    if not CORPUS.is_dir():
        return []
    places = [*CORPUS.iterdir(), *(CORPUS / "optimized").iterdir()]
    folders = sorted(place for place in places if (place / "SKILL.md").is_file())
    texts = [path.read_text(encoding="utf-8", errors="replace") for folder in folders for path in folder.rglob("*.md")]
    parser = MarkdownIt("commonmark", {"maxNesting": 200}).enable("table")
    ours = min(_seconds(lambda: [compile_skill(folder) for folder in folders]) for _ in range(3))
    whole = min(_seconds(lambda: [parser.parse(text) for text in texts]) for _ in range(3))
    blocks = min(_seconds(lambda: [parser.block.parse(text, parser, {}, []) for text in texts]) for _ in range(3))
    return [
        ("compile the corpus", ours / whole, "x markdown-it-py parsing its Markdown (limit 3)"),
        ("compile the corpus, blocks only", ours / blocks, "x markdown-it-py's block rules alone (limit 3)"),
    ]


def many_resources() -> list[tuple[str, float, str]]:
    """A skill of 700 resources that name each other."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "many"
        (root / "references").mkdir(parents=True)
        (root / "SKILL.md").write_text("# Many\n\n" + "".join(f"- See references/r{n}.md.\n" for n in range(RESOURCES)))
        for number in range(RESOURCES):
            words = f"# Part {number}\n\nSee [next](r{number + 1}.md).\n\n" + "Some words about it.\n" * 100
            (root / f"references/r{number}.md").write_text(words)
        return [(f"compile {RESOURCES} resources", _seconds(lambda: compile_skill(root)), "s (limit 2)")]


def huge_document() -> list[tuple[str, float, str]]:
    """A SKILL.md of 300,000 items, in a process of its own so that its memory can be told."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "SKILL.md"
        path.write_text("# Huge\n\n" + "".join(f"- item number {n}\n" for n in range(ITEMS)))
        program = [sys.executable, __file__, str(path)]
        seconds, peak, printed = subprocess.run(program, check=True, capture_output=True, text=True).stdout.split()
    parser = MarkdownIt("commonmark").enable("table")
    text = "".join(f"- item number {n}\n" for n in range(ITEMS // 10))
    parsing = _seconds(lambda: parser.parse(text)) * 10
    return [
        (f"compile {ITEMS} items", float(seconds), "s (limit 30)"),
        (f"memory for {ITEMS} items", float(peak), "GB (limit 2)"),
        (f"memory for {ITEMS} items as JSON", float(printed), "GB (limit 2)"),
        (
            f"compile {ITEMS} items, relative",
            float(seconds) / parsing,
            "x markdown-it-py parsing them, a tenth at a time",
        ),
    ]


def growth_of_patterns() -> list[tuple[str, float, str]]:
    """Twice the text in texts that once took the square of their length: open titles of links, and underscores."""
    texts = {"open titles of links": "[a](b (", "underscores in a heading": "_"}
    found = []
    for name, part in texts.items():
        short, long = (f"# A{part * size}b\n\n{part * size}\n" for size in (GROWTH, 2 * GROWTH))
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "SKILL.md"
            seconds = []
            for text in (short, long):
                path.write_text(text)
                seconds.append(min(_seconds(partial(compile_skill, path)) for _ in range(3)))
        found.append((f"twice as many {name}", seconds[1] / seconds[0], "x the time (limit 3)"))
    return found


def figures() -> list[tuple[str, float, str]]:
    """All figures: name, value, what it is measured in or a multiple of."""
    return [*corpus_against_parser(), *many_resources(), *growth_of_patterns(), *huge_document()]


def _seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _measure(path: Path) -> None:
    """One compilation in this process: CPU seconds, peak memory in GB, and the peak once it was written as JSON."""
    seconds, peak = _seconds(lambda: compile_skill(path)), _peak()
    run(["compile", str(path), "--json", "-o", os.devnull])
    print(seconds, peak, _peak())


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _measure(Path(sys.argv[1]))
    else:
        for name, value, unit in figures():
            print(f"{name:40} {value:8.2f} {unit}")
