"""The agent of a known coding program: one runner for all rows of the table.

Each rollout has a working folder that is a git repository of its own (programs look for skills up to the root of the
repository), a home of its own with the program's settings, and a sandbox that shows no other file of the user.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from skillsv.agents.coding.installed import InstalledProgram, find_installed, visible_folders
from skillsv.agents.coding.program import CodingProgram, Launch, ModelChoice, ProgramOutput, ProgramReport
from skillsv.agents.coding.requirements import forwarded_keys
from skillsv.agents.command import find_failure
from skillsv.agents.fingerprints import AgentInputs
from skillsv.agents.options import AgentOptions
from skillsv.agents.provider_errors import PERMANENT_STATUSES, kind_of_error, status_in
from skillsv.agents.server_address import check_url
from skillsv.errors import AgentFailure, SettingsError, SkillSVError, Unavailable
from skillsv.model.coalition import Rendering
from skillsv.model.frontmatter import read_frontmatter
from skillsv.model.rollout import FailureKind, Outcome
from skillsv.model.task import Task
from skillsv.sandbox.bubblewrap import find_sandbox_problem, run_sandboxed
from skillsv.sandbox.covered_files import CoveredFiles, FileWatch
from skillsv.sandbox.folder_quota import WORKSPACE_QUOTA
from skillsv.sandbox.process import Limits, ProgramResult, private_environment, run_program
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.sandbox_options import SandboxOptions
from skillsv.sandbox.sources import digest_words
from skillsv.sandbox.workspace import convert_disk_errors, place_skill

VERSION = "coding/1"
"""The version of what every program receives. Changing it makes rollouts of earlier versions other rollouts."""

_MOUNT = "/task"
"""The working folder in the sandbox."""

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""PATH in the sandbox, after the folders of the program."""

_REPOSITORY = {".git/HEAD": "ref: refs/heads/main\n", ".git/info/exclude": ".home\n.tmp\n.skillsv\n"}
"""The least that makes a folder a git repository, with two empty folders. No program is needed for it."""

_MAX_CHARS = 200_000
"""Longest transcript that the ledger stores for one rollout."""

_MAX_MESSAGE = 500
"""Longest part of a program's error that a failure quotes."""

_MAX_RESULT_BYTES = 64 * 1024 * 1024
"""A longer result file is not read, and longer output ends the program: events repeat what tools returned."""

_INLINED = "Use this skill where it helps. Its files are in {folder}.\n\n<skill>\n{text}\n</skill>\n\n{task}"
"""The prompt of a program that knows no skills."""


class CodingAgent:
    """Runs a program of the table once per rollout. An error of the provider is a failure, never a wrong answer."""

    def __init__(self, program: CodingProgram, model: str, options: AgentOptions) -> None:
        self._program = program
        self._options = options
        self._sandbox = options.chat.sandbox
        url = options.chat.base_url or (os.environ.get(program.url_variable) if program.url_variable else None)
        self._model = ModelChoice(name=model, base_url=check_url(url) if url else None)
        self._installed = self._check()
        self._launch: Launch = program.launch(self._model)
        self._inputs = AgentInputs(options)
        watched = (self._installed.manifest,) if self._installed.manifest else (self._installed.path,)
        self._watch = FileWatch(CoveredFiles(basic=watched))
        self._limits = Limits(
            seconds=options.timeout,
            output_bytes=_MAX_RESULT_BYTES,
            stop_at_output=True,
            dropped_lines=program.dropped_lines,
            memory_bytes=options.memory_bytes,
            file_bytes=options.file_bytes,
            processes=options.processes,
            folder=WORKSPACE_QUOTA,
        )

    def _check(self) -> InstalledProgram:
        """The program on this machine. Raises SettingsError where it, or a setting, cannot be used."""
        program, options = self._program, self._options
        problem = program.check_model(self._model.name)
        if problem is not None:
            raise SettingsError(problem, hint=f"For example: {program.name}:{program.example}.")
        if options.skill_dir not in {None, program.skill_dir}:
            where = program.skill_dir or "the prompt"
            raise SettingsError(f"--skill-dir does not apply: {program.name} gets the skill in {where}.")
        if self._sandbox and "HOME" in options.forward_env:
            raise SettingsError(
                "a sandboxed program does not see your home, so HOME cannot be forwarded.",
                hint="Set a key in the environment, or add --no-sandbox: the skills in your home are then seen, too.",
            )
        if self._sandbox and (reason := find_sandbox_problem()):
            raise SettingsError(
                f"{program.name} cannot be sandboxed: {reason}",
                hint="Run it unprotected, with your rights, by --no-sandbox.",
            )
        installed = find_installed(program.executable)
        if installed is None:
            raise SettingsError(
                f"The program `{program.executable}` was not found.", hint=f"Install it: {program.package}."
            )
        return installed

    @property
    def fingerprint(self) -> str:
        """Covers program, version, model, server, arguments, settings, the prompt, sandbox and forwarded values."""
        launch, options = self._launch, self._options
        declared = options.agent_version is not None  # then the ending holds the version that the user declared
        version = "" if declared else self._installed.version
        digests = [] if version or declared else self._watch.basic
        words = [
            *(VERSION, self._program.name, version, self._model.name, self._model.base_url or ""),
            *launch.arguments,
            *(f"{name}={value}" for name, value in sorted(launch.variables.items())),
            *(f"{name}={value}" for name, value in sorted(launch.home_files.items())),
            *(_INLINED if self._program.skill_dir is None else "", str(self._sandbox), *sorted(options.forward_env)),
        ]
        return self._inputs.extend(f"{VERSION}:{self._program.name}:{digest_words(words, digests)}")

    def find_change(self) -> Path | None:
        """The file of the program, if it was updated since the fingerprint was made."""
        changed = None if self._options.agent_version is not None else self._watch.find_change()
        return changed or self._inputs.find_change()

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Run the program once in `workspace`."""
        del replicate  # no program has a seed
        present = None if skill is None or skill.empty else skill
        place = None if present is None else place_skill(present, workspace, self._program.skill_dir)
        names = frozenset() if present is None or place is None else self._skill_names(present, place)
        mount = Path(_MOUNT) if self._sandbox else workspace
        prompt = task.input
        if present is not None and place is not None and self._program.skill_dir is None:
            folder = mount / place.relative_to(workspace)
            prompt = _INLINED.format(folder=folder, text=present.text, task=task.input)
        self._prepare(workspace, mount / ".home", prompt)
        stdin = b"" if self._program.prompt_file else prompt.encode("utf-8", errors="replace")
        done = await self._start(workspace, mount / ".home", stdin)
        return self._outcome(done, workspace, names)

    def _skill_names(self, skill: Rendering, place: Path) -> frozenset[str]:
        """The names by which the program knows the skill. Raises SettingsError where it would not see it."""
        if self._program.skill_dir is None:
            return frozenset({place.name})
        front = read_frontmatter(skill.text.splitlines())
        if skill.main != "SKILL.md" or front.name is None or front.description is None:
            raise SettingsError(
                f"{self._program.name} does not see this skill: it needs SKILL.md with a name and a description in its "
                "frontmatter.",
                hint="Add them, or value the text with model:PROVIDER:NAME or a command: of your own.",
            )
        return frozenset({place.name, front.name})

    def _prepare(self, workspace: Path, home: Path, prompt: str) -> None:
        """Write the settings of the program, its prompt, and the repository."""
        texts = {f".home/{name}": _with_home(text, home) for name, text in self._launch.home_files.items()}
        if self._program.prompt_file is not None:
            texts[f".home/{self._program.prompt_file}"] = self._program.encode_prompt(prompt)
        with convert_disk_errors(workspace):
            (workspace / ".tmp").mkdir(exist_ok=True)
            (workspace / ".home").mkdir(exist_ok=True)
            if not (workspace / ".git").exists():
                texts |= _REPOSITORY
                for folder in ("objects", "refs"):
                    (workspace / ".git" / folder).mkdir(parents=True)
            for name, text in texts.items():
                path = workspace / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", errors="replace")

    async def _start(self, workspace: Path, home: Path, stdin: bytes) -> ProgramResult:
        program = self._installed.path
        argv = [str(program), *(_with_home(word, home) for word in self._launch.arguments)]
        names = (*forwarded_keys(self._program, self._model.name), *self._options.forward_env)
        variables = {name: os.environ[name] for name in names if name in os.environ}
        variables |= {name: _with_home(value, home) for name, value in self._launch.variables.items()}
        if self._sandbox:
            shown, folders = visible_folders(program, tuple(name for name, _ in self._program.uses))
            path = ":".join([*map(str, folders), _SYSTEM_PATH])
            own = {"HOME": str(home), "TMPDIR": f"{_MOUNT}/.tmp", "PATH": path}
            options = SandboxOptions(read_only=shown, network=True, variables={**own, **variables})
            return await run_sandboxed(argv, workspace=workspace, limits=self._limits, stdin=stdin, options=options)
        env = private_environment(workspace, self._options.forward_env) | variables
        try:
            return await run_program(argv, cwd=workspace, env=env, stdin=stdin, limits=self._limits)
        except OSError as error:
            raise AgentFailure(f"{program} cannot be started: {error.strerror}.", kind=FailureKind.CRASH) from error

    def _outcome(self, done: ProgramResult, workspace: Path, names: frozenset[str]) -> Outcome:
        output = ProgramOutput(
            stdout=done.stdout.decode("utf-8", errors="replace"),
            stderr=done.stderr.decode("utf-8", errors="replace"),
            code=done.code,
            results=_read_results(workspace / ".home", self._program.result_files),
            skill_names=names,
        )
        report = self._program.read(output)
        if self._model.base_url is not None:  # the prices that a program knows are not those of another server
            report.usage = replace(report.usage, usd=None)
        failure = find_failure(done, self._program.name, self._limits) or self._find_error(report, output)
        if isinstance(failure, AgentFailure):
            failure.usage = report.usage
        if failure is not None:
            raise failure
        return Outcome(
            answer=report.answer or "",
            usage=report.usage,
            transcript=redact("\n".join(report.steps))[:_MAX_CHARS] or None,
            opened=report.opened if names else None,
            ending=report.ending,
            turns=report.turns,
        )

    def _find_error(self, report: ProgramReport, output: ProgramOutput) -> SkillSVError | None:
        """The failure that the report or the exit code shows; None where there is an answer."""
        name = self._program.name
        if report.error is None and output.code == 0 and report.answer is not None:
            return None
        if report.error is None:
            last = [line.strip() for line in output.stderr.splitlines() if line.strip()][-1:]
            reason = redact(last[0])[:_MAX_MESSAGE] if last else "it wrote nothing to stderr"
            message = f"{name} ended with exit code {output.code} and without a result: {reason}"
            return AgentFailure(message, kind=kind_of_error(reason, status_in(reason)))
        message = " ".join(redact(report.error).split())[:_MAX_MESSAGE]
        status = report.status or status_in(message)
        if status is not None and status in PERMANENT_STATUSES:
            return Unavailable(f"{name} will not serve any rollout: {message}", hint=PERMANENT_STATUSES[int(status)])
        return AgentFailure(f"{name} failed: {message}", kind=kind_of_error(message, status))


def _with_home(text: str, home: Path) -> str:
    return text.replace("{home}", str(home))


def _read_results(home: Path, names: tuple[str, ...]) -> Mapping[str, str]:
    """The texts of result files. A link, or a file that is too long, counts as missing."""
    texts = {}
    for name in names:
        path = home / name
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_RESULT_BYTES:
            texts[name] = path.read_text(encoding="utf-8", errors="replace")
    return texts
