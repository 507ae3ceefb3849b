"""Feed hostile input to the readers of frontmatter, Markdown, tasks, manifests and records.

    python tools/fuzz.py --seconds 1800               # all readers, one after the other
    python tools/fuzz.py --target tasks --seconds 60

Two searches a reader. `crash` looks for an exception that is no error of skillsv, with atheris (guided by coverage)
where it is installed, else with random changes. `growth` repeats random patterns and looks for time above linear: four
times the input may take at most `MAX_GROWTH` times the time. Every finding is printed with its input, and the exit code
is 1. Each search runs in a process of its own, one at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from skillsv.errors import SkillSVError

SMALL = 6_000
"""Bytes of the smaller input of `growth`."""

MAX_GROWTH = 9.0
"""Largest ratio of times between an input and one four times as long: 4 is linear, 16 is quadratic."""

WORTH_SECONDS = 0.4
"""CPU time below which the larger input is not looked at: noise of the machine is as large."""

TOKENS = (
    *("[", "]", "(", ")", "{", "}", "<", ">", "*", "_", "**", "`", "```", "~~~", "#", "## ", "- ", "1. ", "> ", "|"),
    *(
        "|-",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " ",
        "    ",
        "\\",
        "!",
        "![",
        "](",
        "](<",
        '"',
        "'",
        ":",
        ": ",
        "&a ",
        "*a ",
        "<<: ",
    ),
    *(
        "? ",
        "!!python/object/apply:os.system ",
        "%YAML 1.1\n",
        "---\n",
        "...\n",
        "--- ",
        "key: ",
        "a",
        "\x00",
        "\x1b[31m",
    ),
    *(
        "\ufeff",
        "\u2028",
        "\ud7ff",
        "\U0001f600",
        "é",
        "0",
        "1e999",
        "-0",
        "NaN",
        "null",
        "true",
        "[a]: ",
        "[a][b]",
        "<!--",
    ),
    *(
        "-->",
        "<div>",
        "</div>",
        "&amp;",
        "&#x0;",
        "http://",
        "a@b.c",
        "../",
        "/etc/passwd",
        "SKILL.md",
        "$(",
        "${",
        "EOF",
    ),
    *(
        "```python\n",
        "```bash\n",
        "def f():\n",
        "import os\n",
        "x = ",
        "cat <<EOF\n",
        "see `",
        "step 1",
        "\u202e",
        "\u00a0",
    ),
    *(
        '{"id":',
        '"input":',
        '"target":',
        '"files":',
        '"metadata":',
        '"verifier":',
        "[[",
        "]]",
        "{{",
        "}}",
        ",",
        "<a b=",
        "~~",
    ),
    *(
        "<!-- SLOW_UPDATE_START -->\n",
        "<!-- SLOW_UPDATE_END -->\n",
        "\n===\n",
        "\n---\n",
        "| a | b |\n",
        "[^1]",
        "[^1]: ",
        "\x0b",
    ),
)
"""Pieces of which patterns are made: what the formats give a meaning to, and what they do not expect."""

SKILL = (
    "---\nname: tiny\ndescription: Says words.\n---\n\n# Words\n\n- Say `alpha`.\n- Mumble (see [notes](notes.md)).\n"
)

TASK = {"id": "t1", "input": "?", "target": "alpha", "verifier": "contains", "metadata": {"a": [1, None]}, "files": []}


class Readers:
    """The readers under test. `folder` holds a finished run, of which one file is replaced by the input."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def frontmatter(self, data: bytes) -> None:
        """The frontmatter of a skill, and the YAML alone."""
        import yaml

        from skillsv.compiler.lint import lint_compiled
        from skillsv.model.frontmatter import read_frontmatter, yaml_problem

        text = data.decode("utf-8", errors="replace")
        read_frontmatter(["---", *text.split("\n"), "---"])
        with contextlib.suppress(yaml.YAMLError):
            yaml_problem(text)
        lint_compiled(_compile(f"---\n{text}\n---\n\nSay `alpha`.\n"))

    def markdown(self, data: bytes) -> None:
        """A Markdown file: compiled, linted, ordered, rendered whole, empty and with the first half of its units."""
        import numpy as np

        from skillsv.compiler.lint import lint_compiled
        from skillsv.model.coalition import Operator
        from skillsv.order import Sampler
        from skillsv.rendering import Renderer

        compiled = _compile(data.decode("utf-8", errors="replace") + "\n")
        lint_compiled(compiled)
        order = Sampler(compiled).sample(np.random.default_rng(1))
        renderer = Renderer(compiled)
        for kept in (order, order[: len(order) // 2], order[:1]):
            for operator in Operator:
                renderer.render(frozenset(kept), operator)

    def tasks(self, data: bytes) -> None:
        """A file of tasks, as JSON lines and as an `evals.json`."""
        from skillsv.tasks.load import load_tasks

        for name in ("tasks.jsonl", "evals.json"):
            path = self._folder / name
            path.write_bytes(data)
            with contextlib.suppress(SkillSVError):
                load_tasks(path)

    def manifest(self, data: bytes) -> None:
        """A manifest of a run, and the commands that read it."""
        self._open_run("manifest.json", data)

    def records(self, data: bytes) -> None:
        """Records of a run, and the estimate from them."""
        self._open_run("records.jsonl", data)

    def _open_run(self, name: str, data: bytes) -> None:
        from skillsv.pipeline.run import load_run
        from skillsv.rollout import RunFolder

        path = self._folder / "run" / name
        original = path.read_bytes()
        path.write_bytes(data)
        try:
            with contextlib.suppress(SkillSVError):
                RunFolder(path.parent).status()
            with contextlib.suppress(SkillSVError):
                load_run(path.parent)
        finally:
            path.write_bytes(original)


def _compile(text: str) -> object:
    from skillsv.compiler import compile_files, read_text

    return compile_files(read_text(text))


def make_run(folder: Path) -> None:
    """Run a small valuation in `folder/run`, without the checksums that would refuse every changed record."""
    from skillsv.cli import run

    (folder / "tiny").mkdir()
    (folder / "tiny/SKILL.md").write_text(SKILL)
    (folder / "agent.py").write_text(
        "def answer(skill, task, replicate):\n    return 'alpha' if skill and 'alpha' in skill.text else ''\n"
    )
    lines = [json.dumps({**TASK, "id": f"t{number}"}) + "\n" for number in range(6)]
    (folder / "panel.jsonl").write_text("".join(lines))
    words = ["--tasks", f"{folder}/panel.jsonl", "--agent", f"python:{folder}/agent.py:answer", "--method", "chain"]
    flags = ["-k", "2", "-b", "2", "--panel-b", "2", "--yes", "--quiet", "--run-dir", f"{folder}/run"]
    with contextlib.redirect_stdout(io.StringIO()):
        code = run(["value", f"{folder}/tiny", *words, *flags])
    if code != 0:
        raise SystemExit(f"The run to be damaged failed with exit code {code}.")
    (folder / "run/records.crc32").unlink()


def seeds(target: str, folder: Path) -> list[bytes]:
    """Valid inputs, from which changes begin."""
    task = json.dumps(TASK).encode()
    evals = {"skill_name": "tiny", "evals": [{"id": 1, "prompt": "?", "expected_output": "a", "expectations": ["b"]}]}
    return {
        "frontmatter": [b"name: tiny\ndescription: d\nx: &a [1, {b: *a}]\n", b"a: >-\n  text\nb: |\n  more\n"],
        "markdown": [
            SKILL.encode(),
            b"# A\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n```bash\necho $X\n```\n\n1. x\n   - y\n\n[a]: b\n",
        ],
        "tasks": [task + b"\n" + task.replace(b"t1", b"t2"), json.dumps(evals).encode()],
        "manifest": [(folder / "run/manifest.json").read_bytes()],
        "records": [(folder / "run/records.jsonl").read_bytes()],
    }[target]


def pattern(source: random.Random) -> str:
    """A few tokens, the material of one repeated input."""
    return "".join(source.choice(TOKENS) for _ in range(source.randint(1, 5)))


def grown(target: str, source: random.Random) -> Callable[[int], bytes]:
    """A family of inputs by their number of bytes."""
    head, body, tail = (
        pattern(source) if share else "" for share in (source.random() < 0.4, True, source.random() < 0.3)
    )

    def make(size: int) -> bytes:
        text = head + body * max(1, size // len(body.encode())) + tail
        if target == "tasks":
            return json.dumps({"id": "t", "input": text, text: 1, "files": [text]}).encode()
        if target == "manifest":
            return json.dumps({"settings": {text: text}, "skill": {"name": text}}).encode()
        if target == "records":
            return (
                json.dumps({"schema": "skillsv.chain/1", "record": {text: text}}) + "\n"
            ).encode() * 2 + text.encode()
        return text.encode()

    return make


def changed(data: bytes, source: random.Random) -> bytes:
    """The data after a few random changes: bytes, tokens, digits, removed and repeated parts."""
    for _ in range(source.randint(1, 6)):
        start = source.randint(0, len(data))
        end = min(len(data), start + source.randint(0, 12))
        part = source.choice(
            (
                b"",
                source.choice(TOKENS).encode(),
                source.randbytes(2),
                data[start:end] * 3,
                b"0",
                b"-1",
                b"null",
                b"[]",
                b'"x"',
            )
        )
        data = data[:start] + part + data[end:]
    return data


def guarded(read: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The reader, where errors of skillsv are an answer."""

    def call(data: bytes) -> None:
        with contextlib.suppress(SkillSVError):
            read(data)

    return call


def search_crash(target: str, seconds: float, seed: int, folder: Path) -> int:
    """Random changes of the seeds until the time is over; returns the number of findings."""
    read = guarded(getattr(Readers(folder), target))
    source, end, count, found = random.Random(seed), time.monotonic() + seconds, 0, set[str]()
    pool = seeds(target, folder)
    while time.monotonic() < end:
        data = changed(source.choice(pool), source)
        count += 1
        try:
            read(data)
        except Exception as error:  # noqa: BLE001 - what is looked for
            place = _place(error)
            if place not in found:
                found.add(place)
                print(f"FOUND {target} crash {place}: {data[:600]!r}", flush=True)
        else:
            if len(pool) < 200 and source.random() < 0.01:
                pool.append(data)
    print(f"{target} crash (random): {count} executions, {len(found)} findings", flush=True)
    return len(found)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    return f"{type(error).__name__} at {where}"


def search_crash_guided(target: str, seconds: float, seed: int, folder: Path) -> int:
    """The same with atheris, which ends the process itself at the first finding or when the time is over."""
    import atheris

    corpus = folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds(target, folder)):
        (corpus / str(number)).write_bytes(data)
    words = folder / "words"
    escaped = ("".join(rf"\x{byte:02x}" for byte in token.encode()) for token in TOKENS)
    words.write_text("".join(f'"{token}"\n' for token in escaped))
    flags = [
        f"-max_total_time={int(seconds)}",
        f"-seed={seed}",
        f"-dict={words}",
        "-max_len=4096",
        "-timeout=60",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup(
        [sys.argv[0], *flags, "-rss_limit_mb=4096", "-print_final_stats=1", str(corpus)],
        guarded(getattr(Readers(folder), target)),
    )
    atheris.Fuzz()
    return 0


@contextlib.contextmanager
def _instrumented() -> Iterator[None]:
    """Import the readers so that atheris sees which lines an input reaches."""
    import atheris

    with atheris.instrument_imports(include=["skillsv"]):
        import skillsv.cli
        import skillsv.compiler.lint
        import skillsv.order
        import skillsv.pipeline.run
        import skillsv.rendering
        import skillsv.tasks.load  # noqa: F401

        yield


def search_growth(target: str, seconds: float, seed: int, folder: Path) -> int:
    """Compare the time of inputs with that of inputs four times as long; returns the number of findings."""
    read = guarded(getattr(Readers(folder), target))
    source, end, count, found = random.Random(seed), time.monotonic() + seconds, 0, 0
    read(SKILL.encode())  # imports
    while time.monotonic() < end:
        make = grown(target, source)
        count += 1
        try:
            large = _cpu_seconds(read, make(4 * SMALL))
            if (
                large > WORTH_SECONDS
                and large / max(1e-9, min(_cpu_seconds(read, make(SMALL)) for _ in range(3))) > MAX_GROWTH
            ):
                larger = min(_cpu_seconds(read, make(8 * SMALL)) for _ in range(2)) / min(
                    _cpu_seconds(read, make(2 * SMALL)) for _ in range(2)
                )
                if larger > MAX_GROWTH:
                    found += 1
                    print(f"FOUND {target} growth x{larger:.1f} ({large:.2f} s): {make(1)[:300]!r}", flush=True)
        except Exception as error:  # noqa: BLE001 - what is looked for
            found += 1
            print(f"FOUND {target} crash {_place(error)}: {make(1)[:300]!r}", flush=True)
    print(f"{target} growth: {count} patterns, {found} findings", flush=True)
    return found


def _cpu_seconds(read: Callable[[bytes], None], data: bytes) -> float:
    started = time.process_time()
    read(data)
    return time.process_time() - started


TARGETS = ("frontmatter", "markdown", "tasks", "manifest", "records")


def run_search(target: str, kind: str, seconds: float, seed: int) -> int:
    """One search in this process."""
    logging.disable()
    with tempfile.TemporaryDirectory(prefix="skillsv-fuzz-") as name:
        folder = Path(name)
        with _instrumented() if kind == "guided" else contextlib.nullcontext():
            make_run(folder)
        if kind == "growth":
            return search_growth(target, seconds, seed, folder)
        if kind == "guided":
            return search_crash_guided(target, seconds, seed, folder)
        return search_crash(target, seconds, seed, folder)


def searches(targets: tuple[str, ...], seconds: float) -> Iterator[tuple[str, str, float]]:
    """Every reader and search with its share of the time."""
    try:
        import atheris  # noqa: F401

        kinds = ("crash", "guided", "growth")
    except ImportError:
        kinds = ("crash", "growth")
    for target in targets:
        for kind in kinds:
            yield target, kind, seconds / len(targets) / len(kinds)


def main() -> int:
    """Run all searches; 1 if one found something."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=1800.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--target", choices=TARGETS)
    options.add_argument("--kind", choices=("crash", "guided", "growth"), help="one search, in this process")
    given = options.parse_args()
    if given.kind:
        return 1 if run_search(given.target or TARGETS[0], given.kind, given.seconds, given.seed) else 0
    failed = 0
    for target, kind, seconds in searches((given.target,) if given.target else TARGETS, given.seconds):
        words = ["--target", target, "--kind", kind, "--seconds", str(seconds), "--seed", str(given.seed)]
        print(f"== {target} {kind}, {seconds:.0f} s", flush=True)
        failed += subprocess.run([sys.executable, __file__, *words], check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
