"""The agent `command:PROGRAM ...`: a program run once per rollout, in a fresh folder, with a scrubbed environment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import FailureKind, Outcome
from skillsv.model.task import Task
from skillsv.sandbox.process import Completed, Limits, private_environment, run_program
from skillsv.sandbox.sources import command_line, command_sources, digest_files
from skillsv.sandbox.user_views import asked_fields, task_fields
from skillsv.sandbox.workspace import place_skill

_LITTLE_ROOM = 1024 * 1024


class CommandAgent:
    """Runs the program: task JSON on stdin, answer on stdout, the skill's folder in SKILLSV_SKILL.

    Its working folder holds the task's files. SKILLSV_SKILL is not set for the bare agent, and nothing of the skill is
    on disk then. SKILLSV_TASK_ID and SKILLSV_REPLICATE are set. Of the user's environment it sees PATH, LANG and the
    names it was promised (`forward_env`); HOME and TMPDIR are private. A non-zero exit, a timeout, output over the
    limit and output that is not UTF-8 are failures of the infrastructure, never wrong answers. Empty output with exit
    code 0 is an answer: the task may be to write a file.
    """

    def __init__(self, command: str, options: AgentOptions) -> None:
        self._options = options
        self._argv = command_line(command, options.folder)
        settings = [command, options.skill_dir or "", str(not options.show_target), *sorted(options.forward_env)]
        self._fingerprint = f"command/1:{digest_files(settings, command_sources(self._argv))}"
        self._limits = Limits(
            seconds=options.timeout,
            output_bytes=options.output_bytes,
            memory_bytes=options.memory_bytes,
            file_bytes=options.file_bytes,
            processes=options.processes,
        )

    @property
    def fingerprint(self) -> str:
        """Covers the command, the bytes of the program and of the files it names, and where the skill is placed."""
        return self._fingerprint

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Run the program once in `workspace`."""
        env = private_environment(workspace, self._options.forward_env)
        env |= {"SKILLSV_TASK_ID": task.id, "SKILLSV_REPLICATE": str(replicate)}
        if skill is not None and not skill.empty:
            env["SKILLSV_SKILL"] = str(place_skill(skill, workspace, self._options.skill_dir))
        try:
            done = await run_program(
                self._argv, cwd=workspace, env=env, stdin=task_json(task, self._options), limits=self._limits
            )
        except OSError as error:
            raise AgentFailure(
                f"{self._argv[0]} cannot be started: {error.strerror}.", kind=FailureKind.CRASH
            ) from error
        return self._outcome(done, workspace)

    def _outcome(self, done: Completed, workspace: Path) -> Outcome:
        errors = self._redacted(done.stderr.decode("utf-8", errors="replace"))
        name = Path(self._argv[0]).name
        if done.timed_out:
            raise AgentFailure(f"{name} did not end within {self._options.timeout:g} s.", kind=FailureKind.TIMEOUT)
        if done.code != 0:
            raise AgentFailure(f"{name} {_ending(done.code)}{_last_line(errors)}", kind=_crash_kind(workspace))
        if done.truncated:
            raise AgentFailure(
                f"{name} printed more than {self._options.output_bytes} bytes.", kind=FailureKind.BAD_OUTPUT
            )
        try:
            answer = done.stdout.decode("utf-8")
        except UnicodeDecodeError as error:
            raise AgentFailure(
                f"{name} printed bytes that are not UTF-8 (at byte {error.start}).", kind=FailureKind.BAD_OUTPUT
            ) from error
        return Outcome(answer=self._redacted(answer), transcript=errors or None)

    def _redacted(self, text: str) -> str:
        """The text without the values of forwarded variables: they may be keys, and text goes into the ledger."""
        for name in self._options.forward_env:
            value = os.environ.get(name, "")
            if len(value) >= 8:
                text = text.replace(value, f"[{name}]")
        return text


def task_json(task: Task, options: AgentOptions) -> bytes:
    """The task as the program reads it: without what grades it, unless that is to be shown."""
    fields = task_fields(task) if options.show_target else asked_fields(task)
    return msgspec.json.encode(fields) + b"\n"


def _ending(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _last_line(errors: str) -> str:
    """The last thing the program said on stderr, for the message."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ", and said nothing on stderr."


def _crash_kind(workspace: Path) -> FailureKind:
    """A crash on a full disk is the disk's fault."""
    free = shutil.disk_usage(workspace.parent).free  # the program may have removed the workspace itself
    return FailureKind.DISK if free < _LITTLE_ROOM else FailureKind.CRASH
