"""The files that a valuation of a new skill begins with: tasks to fill in, a verifier, settings, an agent."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skillsv.api.skill import Skill
from skillsv.errors import SettingsError
from skillsv.model.skill import Unit, UnitKind
from skillsv.report.sentences import files_by_path, first_words
from skillsv.tasks.jsonl import STARTER_MARK
from skillsv.tasks.verifiers.table import KNOWN_SPECS, is_known

AGENTS = ("shell", "python")
"""Agents for which a program is written; any other text is an agent's specification."""

FUNCTION = "function"
"""The verifier for which a Python function is written."""

FIRST_BUDGET = 400
"""Rollouts of the command that is proposed."""

_SHELL_AGENT = """\
#!/bin/sh
# Called once per rollout, in a fresh folder. The task is JSON on stdin: id, input, files, metadata.
# The skill lies in the folder $SKILLSV_SKILL; the variable is unset when the agent is to work without it.
# Print the answer. Another exit code than 0 is a failure of the agent, never a wrong answer.
task=$(cat)
echo "agent.sh is still the starter: call your agent here" >&2
exit 1
"""

_PYTHON_AGENT = '''\
"""Called once per rollout. `skill` is None when the agent is to work without it."""


def answer(skill, task):
    prompt = f"{skill.text}\\n\\n{task.input}" if skill else task.input
    raise NotImplementedError(f"agent.py is still the starter: send this prompt to your model: {prompt[:60]}")
'''

_FUNCTION_VERIFIER = '''\
"""Scores an answer from 0 (wrong) to 1 (right). `task` has all fields of the task, also `target`."""


def score(task, answer):
    return 1.0 if str(task.target).casefold() in answer.casefold() else 0.0
'''

_SETTINGS = """\
# Settings of `skillsv value` for the skills in this folder; flags go before them.
# All of them: skillsv value --help, and docs/settings.md.
panel-b = 0.5        # the share of the tasks that is kept aside to prove a shorter skill
seed = 42
# operators = "delete,pad"   # also split each value into content and length; needs about twice the rollouts
# These name what runs or spends. They are used once you have run: skillsv trust skillsv.toml
# max-rollouts = 400
# judge = "model:openai:NAME"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterOptions:
    """The answers to the questions of `skillsv init`.

    `agent` is `shell`, `python` or a specification, `verifier` a specification or `function`, `tasks` the number of
    tasks to write.
    """

    agent: str = "shell"
    verifier: str = "contains"
    tasks: int = 40

    def __post_init__(self) -> None:
        if self.verifier != FUNCTION and not is_known(self.verifier):
            known = ", ".join([FUNCTION, *KNOWN_SPECS])
            raise SettingsError(f"there is no verifier '{self.verifier}'.", hint=f"Known: {known}.")
        if self.agent not in AGENTS and ":" not in self.agent:
            raise SettingsError(
                f"'{self.agent}' is no agent.", hint=f"Say {', '.join(AGENTS)}, or for example command:claude -p."
            )
        if self.tasks < 2:
            raise SettingsError("two panels need at least two tasks.", hint="Forty are a good beginning.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """Files by name, and the agent's specification for the command that comes next."""

    files: Mapping[str, str]
    agent: str

    def command(self, name: str, skill: Path, folder: Path) -> str:
        """The command line of `plan` or `value` for these files."""
        words = ["skillsv", name, str(skill), "--tasks", str(folder / "tasks.jsonl"), "--agent", self.agent]
        return f"{shlex.join(words)} --max-rollouts {FIRST_BUDGET}"


def make_starter(skill: Skill, options: StarterOptions, folder: Path) -> Starter:
    """The starter of a skill whose files will be written to `folder`. Writes nothing."""
    files = {"tasks.jsonl": _tasks(skill, options), "skillsv.toml": _SETTINGS}
    agent = options.agent
    if agent == "shell":
        files["agent.sh"], agent = _SHELL_AGENT, f"command:{shlex.quote(str(folder.resolve() / 'agent.sh'))}"
    elif agent == "python":
        files["agent.py"], agent = _PYTHON_AGENT, f"python:{folder / 'agent.py'}:answer"
    if options.verifier == FUNCTION:
        files["check.py"] = _FUNCTION_VERIFIER
    return Starter(files=files, agent=agent)


def _tasks(skill: Skill, options: StarterOptions) -> str:
    """Tasks to fill in, spread over the units of the skill; each unit's section is the stratum of its tasks."""
    units = [unit for unit in skill.units if unit.id != skill.compiled.trigger]
    files = files_by_path(skill.compiled)
    verifier = "python:check.py:score" if options.verifier == FUNCTION else options.verifier
    lines = []
    for number in range(options.tasks):
        unit = units[number * len(units) // options.tasks] if units else None
        record = {
            "id": f"task-{number + 1:02d}",
            "input": f"{STARTER_MARK} a request for which this matters: {_words(unit, files)}",
            "target": f"{STARTER_MARK} {_target_words(verifier)}",
            "stratum": "" if unit is None else "/".join(unit.section) or skill.name,
            "verifier": verifier,
        }
        lines.append(json.dumps({key: value for key, value in record.items() if value}, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)


def _words(unit: Unit | None, files: Mapping[str, object]) -> str:
    if unit is None:
        return "the skill"
    words = first_words(unit, files)  # type: ignore[arg-type]
    return unit.file if unit.kind is UnitKind.RESOURCE or not words else words


def _target_words(verifier: str) -> str:
    if verifier.startswith("judge"):
        return "what a right answer says, in words"
    return "a number" if verifier.startswith("numeric") else "what a right answer says, word for word"
