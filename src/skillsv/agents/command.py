"""The agent `command:PROGRAM ...`: runs a program once per rollout, in a fresh workspace with few variables."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from skillsv.agents.fingerprints import AgentInputs
from skillsv.agents.options import AgentOptions
from skillsv.agents.placeholders import check_placeholders, fill_placeholders, takes_input
from skillsv.agents.usage_file import USAGE_VARIABLE, read_usage, usage_path
from skillsv.errors import AgentFailure
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import FailureKind, Outcome
from skillsv.model.task import Task
from skillsv.sandbox.covered_files import FileWatch, command_files
from skillsv.sandbox.folder_quota import WORKSPACE_QUOTA
from skillsv.sandbox.process import Limits, ProgramResult, private_environment
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.sources import command_line
from skillsv.sandbox.user_command import CommandSandbox, make_command_sandbox, run_user_command
from skillsv.sandbox.user_views import full_task_fields, public_task_fields
from skillsv.sandbox.workspace import place_skill

_FULL_DISK_BYTES = 1024 * 1024
"""Free bytes below which a crash counts as caused by a full disk."""

_STDERR_CHARS = 300
"""Longest part of the program's stderr that an error message quotes."""


class CommandAgent:
    """Runs the program: task JSON on stdin, answer on stdout, the folder of the skill in SKILLSV_SKILL.

    The workspace holds the files of the task. SKILLSV_TASK_ID and SKILLSV_REPLICATE are set. For the bare agent
    SKILLSV_SKILL is not set and nothing of the skill is on disk. With `stdin` "text", stdin is the task's input. In the
    command, `{input}` stands for the input (stdin is then empty) and `{skill}` for the folder of the skill. The program
    may write what it used to the file in SKILLSV_USAGE. Of the user's environment the program sees PATH, LANG
    and the variables in `forward_env`; HOME and TMPDIR are folders of its own. A non-zero exit, a timeout, output over
    the limit and output that is not UTF-8 are failures of the infrastructure, never wrong answers. Empty output with
    exit code 0 is an answer: the task may be to write a file.
    """

    def __init__(self, command: str, options: AgentOptions) -> None:
        self._options = options
        self._argv = command_line(command, options.folder)
        check_placeholders(self._argv)
        self._inputs = AgentInputs(options, lambda: FileWatch(command_files(self._argv, options.folder)))
        self._sandbox = self._make_sandbox()
        settings = [command, options.skill_dir or "", str(not options.show_target), *sorted(options.forward_env)]
        if options.stdin != "json":  # earlier versions had no such setting
            settings.append(f"stdin {options.stdin}")
        settings += [f"sandbox {options.container}"] if self._sandbox else []
        self._fingerprint = self._inputs.extend(f"command/1:{self._inputs.digest_code(settings, command)}")
        self._limits = Limits(
            seconds=options.timeout,
            output_bytes=options.output_bytes,
            stop_at_output=True,
            memory_bytes=options.memory_bytes,
            file_bytes=options.file_bytes,
            processes=options.processes,
            folder=WORKSPACE_QUOTA,
        )

    @property
    def fingerprint(self) -> str:
        """Covers the command, the files and folders that it names, forwarded values, and where the skill is placed."""
        return self._fingerprint

    def find_change(self) -> Path | None:
        """A covered file that has changed since the fingerprint was made."""
        return self._inputs.find_change()

    @property
    def skipped(self) -> tuple[Path, ...]:
        """Folder arguments that are too large for the fingerprint."""
        return self._inputs.skipped

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Run the program once in `workspace`."""
        env = private_environment(workspace, self._options.forward_env)
        env |= {"SKILLSV_TASK_ID": task.id, "SKILLSV_REPLICATE": str(replicate)}
        env[USAGE_VARIABLE] = str(usage_path(workspace))
        place = None
        if skill is not None and not skill.empty:
            place = place_skill(skill, workspace, self._options.skill_dir)
            env["SKILLSV_SKILL"] = str(place)
        argv = fill_placeholders(self._argv, task.input, place)
        stdin = b"" if takes_input(self._argv) else encode_task(task, self._options)
        try:
            done = await run_user_command(
                argv, workspace=workspace, env=env, stdin=stdin, limits=self._limits, sandbox=self._sandbox
            )
        except OSError as error:
            raise AgentFailure(
                f"{self._argv[0]} cannot be started: {error.strerror}.", kind=FailureKind.CRASH
            ) from error
        return self._outcome(done, workspace)

    def _make_sandbox(self) -> CommandSandbox | None:
        options = self._options
        if not options.sandboxed:
            return None
        return make_command_sandbox(
            self._argv, options.folder, depends_on=options.depends_on, container=options.container
        )

    def _outcome(self, done: ProgramResult, workspace: Path) -> Outcome:
        stderr = self._redact(done.stderr.decode("utf-8", errors="replace"))
        name = Path(self._argv[0]).name
        reported = read_usage(workspace)
        failure = find_failure(done, name, self._limits)
        if failure is None and done.code != 0:
            message = f"{name} {_describe_exit(done.code)}{_last_line(stderr)}"
            failure = AgentFailure(message, kind=_crash_kind(workspace))
        if failure is not None:
            failure.usage = reported.usage
            raise failure
        try:
            answer = done.stdout.decode("utf-8")
        except UnicodeDecodeError as error:
            raise AgentFailure(
                f"{name} printed bytes that are not UTF-8 (at byte {error.start}).",
                kind=FailureKind.BAD_OUTPUT,
                usage=reported.usage,
            ) from error
        problem = f"[{USAGE_VARIABLE} cannot be read: {reported.problem}]\n" if reported.problem else ""
        return Outcome(
            answer=self._redact(answer),
            usage=reported.usage,
            transcript=f"{problem}{stderr}" or None,
            opened=reported.skill_opened,
            turns=reported.turns,
        )

    def _redact(self, text: str) -> str:
        """The text without the values of forwarded variables: they may be keys, and the ledger stores the text."""
        return redact(text, {name: os.environ.get(name, "") for name in self._options.forward_env})


def find_failure(done: ProgramResult, name: str, limits: Limits) -> AgentFailure | None:
    """The failure of a program that reached a limit of time, disk or output; None where it reached none."""
    if done.timed_out:
        return AgentFailure(f"{name} did not end within {limits.seconds:g} s.", kind=FailureKind.TIMEOUT)
    if done.over_quota:
        return AgentFailure(f"{name}: {done.over_quota}", kind=FailureKind.DISK)
    if done.truncated:
        message = f"{name} printed more than {limits.output_bytes} bytes and was stopped."
        return AgentFailure(message, kind=FailureKind.BAD_OUTPUT)
    return None


def encode_task(task: Task, options: AgentOptions) -> bytes:
    """The task on stdin: its input, or JSON, in which fields that grade the answer are only with `show_target`."""
    if options.stdin == "text":
        return task.input.encode("utf-8", errors="surrogateescape")
    fields = full_task_fields(task) if options.show_target else public_task_fields(task)
    return msgspec.json.encode(fields) + b"\n"


def _describe_exit(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _last_line(stderr: str) -> str:
    """The last line that the program wrote to stderr, as the end of an error message."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return f": {lines[-1][:_STDERR_CHARS]}" if lines else ", and wrote nothing to stderr."


def _crash_kind(workspace: Path) -> FailureKind:
    """`DISK` if the disk is full, else `CRASH`."""
    free = shutil.disk_usage(workspace.parent).free  # the program may have removed the workspace itself
    return FailureKind.DISK if free < _FULL_DISK_BYTES else FailureKind.CRASH
