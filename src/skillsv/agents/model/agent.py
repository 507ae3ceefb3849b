"""The model agent: sends skill and task to a model and runs the tools that it calls, until it answers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import anyio
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, ToolReturnPart
from pydantic_ai.messages import UserPromptPart as TaskPart

from skillsv.agents.model.client import ModelClient
from skillsv.agents.model.failures import is_cut
from skillsv.agents.model.prompt import VERSION, system_prompt, task_prompt
from skillsv.agents.model.tools import Tools, replace_surrogates
from skillsv.agents.model.working_folder import WorkingFolder
from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure, RolloutError, SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Ending, FailureKind, Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox.bubblewrap import find_sandbox_problem
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.sandbox_options import SANDBOX_LIMITS
from skillsv.sandbox.workspace import place_skill

_MAX_TRANSCRIPT_CHARS = 200_000
"""Longest transcript that the ledger stores for one rollout."""

_SHARE_OF_TIMEOUT = 0.98
"""Share of the rollout's time limit after which the agent stops itself: a timeout of the runner knows no usage."""


class ModelAgent:
    """Answers a task by a chat with a model. The last text of the model is the answer, right or wrong.

    A broken tool call gets an error message as its result, and the chat goes on. A model that still calls tools after
    `turns` requests has answered with its last text, which may be empty: the ending is `TURN_LIMIT`. An answer that the
    token limit cut has the ending `CUT`. An empty answer, and errors of the provider, the connection or the sandbox are
    failures.
    """

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._options = options
        self._chat = options.chat
        self._client = ModelClient(name, options)
        self._limits = replace(
            SANDBOX_LIMITS,
            seconds=self._chat.run_seconds,
            memory_bytes=options.memory_bytes or SANDBOX_LIMITS.memory_bytes,
            processes=options.processes or SANDBOX_LIMITS.processes,
        )
        if (
            self._chat.tools == "all"
            and self._chat.sandbox
            and (reason := find_sandbox_problem(container=options.container))
        ):
            raise SettingsError(
                f"programs of the model cannot be sandboxed: {reason}",
                hint="Give it no programs to run (--tools files), or run them unprotected (--no-sandbox).",
            )

    @property
    def fingerprint(self) -> str:
        """Covers the model, the server, the decoding settings, delivery, tools and the prompts."""
        limits = {name: value for name, value in asdict(self._limits).items() if name != "grace"}
        container = [self._options.container] if self._options.container else []
        return self._client.fingerprint(VERSION, limits, self._options.skill_dir, *container)

    def find_change(self) -> Path | None:
        """A covered file that has changed since the fingerprint was made."""
        return self._client.find_change()

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Chat with the model until it answers or the time limit of one rollout is over. A failure has its usage."""
        skill = None if skill is None or skill.empty else skill
        folder = self._prepare_folder(skill, workspace)
        try:
            return await self._chat_in_time(folder, skill, task, replicate)
        except RolloutError as failure:
            failure.usage = folder.usage + failure.usage if isinstance(failure.usage, Usage) else folder.usage
            raise

    def _prepare_folder(self, skill: Rendering | None, workspace: Path) -> WorkingFolder:
        """The working folder, with the skill on disk if tools can read it and there is more than the prompt holds."""
        skill_path = None
        if skill is not None and self._chat.tools != "none" and self._has_files_to_read(skill):
            skill_path = place_skill(skill, workspace, self._options.skill_dir).relative_to(workspace).as_posix()
        in_prompt = self._chat.deliver == "prompt" and skill is not None and bool(skill.text.strip())
        return WorkingFolder(
            path=workspace,
            limits=self._limits,
            sandbox=self._chat.sandbox,
            container=self._options.container,
            skill=skill,
            skill_path=skill_path,
            opened=in_prompt,
        )

    def _has_files_to_read(self, skill: Rendering) -> bool:
        """Whether the skill has text that is not in the prompt."""
        return self._chat.deliver == "files" or any(file.path != skill.main for file in skill.files)

    async def _chat_in_time(
        self, folder: WorkingFolder, skill: Rendering | None, task: Task, replicate: int
    ) -> Outcome:
        limit = self._options.timeout
        with anyio.move_on_after(None if limit is None else _SHARE_OF_TIMEOUT * limit):
            return await self._chat_until_answer(folder, skill, task, replicate)
        raise AgentFailure(f"no answer within {limit:g} s.", kind=FailureKind.TIMEOUT)

    async def _chat_until_answer(
        self, folder: WorkingFolder, skill: Rendering | None, task: Task, replicate: int
    ) -> Outcome:
        tools = Tools(self._chat, skill=skill is not None)
        system = SystemPromptPart(content=system_prompt(self._chat, skill, folder.skill_path))
        user = TaskPart(content=task_prompt(task, self._chat))
        messages: list[ModelMessage] = [ModelRequest(parts=[system, user])]
        answer, ending = "", Ending.TURN_LIMIT
        for _ in range(self._chat.turns):
            response, usage = await self._client.ask(messages, replicate, tools.definitions)
            folder.usage += usage
            answer = replace_surrogates(response.text or "")
            if not response.tool_calls:
                ending = Ending.CUT if is_cut(response) else Ending.ANSWERED
                break
            if answer:
                folder.log.append(answer)
            messages += [response, await _run_tool_calls(tools, folder, response)]
        return self._outcome(answer, ending, folder)

    def _outcome(self, answer: str, ending: Ending, folder: WorkingFolder) -> Outcome:
        if len(answer.encode("utf-8", errors="replace")) > self._options.output_bytes:
            raise AgentFailure(
                f"the model answered more than {self._options.output_bytes} bytes.", kind=FailureKind.BAD_OUTPUT
            )
        # Redact before the transcript is shortened: half of a key would not be recognised.
        transcript = redact(replace_surrogates("\n\n".join(folder.log)))[:_MAX_TRANSCRIPT_CHARS]
        return Outcome(
            answer=redact(answer),
            usage=folder.usage,
            transcript=transcript or None,
            opened=folder.opened,
            ending=ending,
        )


async def _run_tool_calls(tools: Tools, folder: WorkingFolder, response: ModelResponse) -> ModelRequest:
    """Run the tool calls of a response one after the other, and make the message with their results."""
    returns = []
    for call in response.tool_calls:
        result = await tools.call(folder, call)
        folder.log.append(f"> {call.tool_name} {call.args_as_json_str()}\n{result}")
        returns.append(ToolReturnPart(tool_name=call.tool_name, content=result, tool_call_id=call.tool_call_id))
    return ModelRequest(parts=returns)
