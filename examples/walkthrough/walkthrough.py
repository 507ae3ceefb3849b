"""The whole way with a skill of your own, as one script: forty tasks, three kinds of agents, a shorter skill, a proof.

python examples/walkthrough/walkthrough.py                          # runs everything in a temporary folder
python examples/walkthrough/walkthrough.py --write docs/tutorial.md # and pastes what it printed into the tutorial

It needs no key and no network. The model behind an API is a server on 127.0.0.1 (`pip install 'skillsv[models]'`).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from model_server import ModelServer  # noqa: E402 - it lies beside this script

MARKS = ("<!-- the walkthrough begins -->", "<!-- the walkthrough ends -->")
"""Between these lines of the tutorial stands what the script printed."""

INTERRUPT_AFTER = 40
"""Calls of the agent after which the run is interrupted."""

LONGEST_WAIT = 120.0
"""Seconds to wait for these calls."""

TASKS = ("--tasks", "tasks.csv")
SHELL = ("--agent", "command:./agent.sh")
PYTHON_RUN = (
    *("value", "town-hall", *TASKS, "--agent", "python:agent.py:answer", "--run-dir", "run-python"),
    *("--operators", "delete,pad", "--max-rollouts", "2000", "--quiet"),
)


@dataclass
class Walkthrough:
    """The folder of the walkthrough, what was printed so far as Markdown, and the calls that each command paid for."""

    folder: Path
    lines: list[str] = field(default_factory=list)
    paid: list[tuple[str, int]] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self.lines += [text, ""]

    def run(self, *words: str, code: int = 0, show: Callable[[str], bool] = bool) -> str:
        """Run one command, add it with the lines of its output that `show` accepts, and return the whole output."""
        before = self.calls()
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "skillsv", *words],
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != code:
            raise SystemExit(f"skillsv {' '.join(words)} ended with {done.returncode}, not {code}:\n{done.stdout}")
        self.paid.append((" ".join(words), self.calls() - before))
        self.show(words, done.stdout, code, show)
        return done.stdout

    def show(self, words: tuple[str, ...], output: str, code: int, show: Callable[[str], bool]) -> None:
        """Add a command and its output."""
        kept = [plain(line) for line in output.splitlines() if line.strip() and show(line)]
        end = [f"(exit code {code})"] if code else []
        self.lines += ["```", plain(f"$ skillsv {' '.join(map(quoted, words))}"), *kept, *end, "```", ""]

    def calls(self) -> int:
        """How often the shell agent was called."""
        log = self.folder / "calls.log"
        return len(log.read_text().split()) if log.exists() else 0


def environment() -> dict[str, str]:
    """The environment of the commands: a key for the server on this machine, and nothing that colours output."""
    return {**os.environ, "OPENAI_API_KEY": "none-needed", "COLUMNS": "120", "NO_COLOR": "1"}


def quoted(word: str) -> str:
    """A word as one types it."""
    return f'"{word}"' if " " in word else word


def plain(line: str) -> str:
    """A line of output without what changes from run to run."""
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", line.rstrip())


def numbers_only(line: str) -> bool:
    """Lines of a valuation that say what it found, without the table."""
    return bool(re.match(r"The skill |\d+ of \d+ units|Too early|\d[\d,]* rollouts run|skillsv:|Forecast", line))


def prepare(walk: Walkthrough) -> None:
    """Look at the skill, before anything is paid for."""
    walk.say("The skill has thirteen lines, forty tasks are in a table, and an agent is a program of a few lines.")
    walk.run("lint", "town-hall")
    walk.run("plan", "town-hall", *TASKS, "--max-rollouts", "600")


def value_with_a_program(walk: Walkthrough) -> None:
    """200 rollouts are too few, 600 go on from there."""
    walk.say("## A program as the agent\n\nTwo hundred rollouts are a first look. The run says so, and keeps them:")
    command = ("value", "town-hall", *TASKS, *SHELL, "--run-dir", "run")
    walk.run(*command, "--max-rollouts", "200", "--quiet", code=4, show=numbers_only)
    walk.say("The same command with a larger limit goes on from there:")
    walk.run(
        *command, "--max-rollouts", "600", "--quiet", show=lambda line: not line.startswith(("Note", "Tokens", "than "))
    )


def shorten(walk: Walkthrough) -> None:
    """Prune, prove, look at what it has spent."""
    walk.say("## A shorter skill, and its proof\n\nWhat is shown to be worthless or harmful goes:")
    walk.run("prune", "run", "-o", "shorter", "--diff")
    walk.say(
        "The proof runs both on the twenty tasks that no value has seen. So few can rule out 13.9 points at best, and "
        "less where a score changes; the gate is therefore 20 points:"
    )
    walk.run("confirm", "run", "--skill", "shorter", "--max-drop", "20", "--yes", "--quiet")
    walk.say("A version that loses what matters is reported as a loss:")
    text = (walk.folder / "shorter/SKILL.md").read_text()
    (walk.folder / "worse").mkdir()
    lines = [line for line in text.splitlines() if " room " not in line and " fee " not in line]
    (walk.folder / "worse/SKILL.md").write_text("".join(f"{line}\n" for line in lines))
    walk.run("confirm", "run", "--skill", "worse", "--max-drop", "20", "--yes", "--quiet", code=3)
    walk.run("status", "run")


def value_with_python(walk: Walkthrough) -> None:
    """Two thousand rollouts of a function, with both operators."""
    walk.say("## A Python function as the agent\n\nWith two thousand rollouts both operators can be measured:")
    walk.run(*PYTHON_RUN, show=numbers_only)


def interrupt(walk: Walkthrough) -> None:
    """Ctrl-C, and the same command again."""
    walk.say("## Interrupted\n\nCtrl-C ends a run; what was paid for is kept, and the same command goes on:")
    words = ("value", "town-hall", *TASKS, *SHELL, "--run-dir", "run-2", "--max-rollouts", "120", "--quiet")
    before = walk.calls()
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "skillsv", *words],
        cwd=walk.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + LONGEST_WAIT
    while walk.calls() < before + INTERRUPT_AFTER and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    if process.returncode != 130:
        raise SystemExit(f"the interrupted run ended with {process.returncode}:\n{output}")
    walk.paid.append(("interrupted", walk.calls() - before))
    walk.show(words, "", 130, bool)
    walk.run(*words, code=4, show=numbers_only)
    walk.paid.append(("interrupted and resumed", walk.calls() - before))


def edit_and_add_tasks(walk: Walkthrough) -> None:
    """After an edit, and with more tasks, only what is new is paid for."""
    walk.say("## Another version, more tasks\n\nAfter an edit the ledger answers every rollout that reads the same:")
    skill = walk.folder / "town-hall/SKILL.md"
    skill.write_text(skill.read_text().replace("Keep your answers short.", "Keep answers short, please."))
    walk.run(*PYTHON_RUN, show=numbers_only)
    walk.say("So it does when tasks are added to the table:")
    more = (walk.folder / "more-tasks.csv").read_text().splitlines()[1:]
    with (walk.folder / "tasks.csv").open("a", encoding="utf-8") as table:
        table.write("".join(f"{line}\n" for line in more))
    walk.run(*PYTHON_RUN, show=numbers_only)


def value_with_a_model(walk: Walkthrough) -> None:
    """A model behind an API, here a server on this machine."""
    walk.say("## A model behind an API\n\nAny OpenAI-compatible server works; this one is on the same machine:")
    with ModelServer() as server:
        flags = ("--base-url", server.url, "--tools", "none", "--max-rollouts", "200", "--run-dir", "run-model")
        words = ("value", "town-hall", *TASKS, "--agent", "model:openai:town", *flags, "--quiet")
        walk.run(*words, code=4, show=numbers_only)
        walk.paid.append(("model", server.calls))


def evaluate_the_trigger(walk: Walkthrough) -> None:
    """Which requests open the skill?"""
    walk.say("## Does the skill open when it should?\n\nSixteen requests say whether they need the skill:")
    flags = ("--agent", "python:agent.py:choose", "--ask", "--max-rollouts", "300", "--quiet")
    walk.run("trigger", "town-hall", "--tasks", "requests.csv", *flags, show=lambda line: not line.startswith("Note"))


STEPS = (
    prepare,
    value_with_a_program,
    shorten,
    value_with_python,
    interrupt,
    edit_and_add_tasks,
    value_with_a_model,
    evaluate_the_trigger,
)
"""The journeys, in order; each uses the folder as the ones before it left it."""


def walk_through(folder: Path) -> Walkthrough:
    """Run all steps in a copy of this folder."""
    place = folder / "walkthrough"
    shutil.copytree(HERE, place, ignore=shutil.ignore_patterns("__pycache__", "*.log"))
    walk = Walkthrough(place)
    for step in STEPS:
        step(walk)
    return walk


def tutorial(text: str, lines: list[str]) -> Iterator[str]:
    """The tutorial with these lines between its marks."""
    begin, rest = text.split(MARKS[0])
    yield begin + MARKS[0]
    yield "\n".join(["", "", *lines])
    yield MARKS[1] + rest.split(MARKS[1])[1]


def main() -> None:
    """Run the walkthrough, print it, and write it into the tutorial if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, help="a tutorial with the two marks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walk = walk_through(Path(folder))
    print("\n".join(walk.lines))
    if options.write:
        options.write.write_text("".join(tutorial(options.write.read_text(), walk.lines)))


if __name__ == "__main__":
    main()
