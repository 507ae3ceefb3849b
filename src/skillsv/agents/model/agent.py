"""A model with a skill, a task and tools: ask, do what it asks for, ask again, until it answers."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import anyio
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart, ToolReturnPart
from pydantic_ai.messages import UserPromptPart as TaskPart

from skillsv.agents.model.client import ModelClient
from skillsv.agents.model.failures import is_cut
from skillsv.agents.model.prompt import VERSION, system_prompt, task_prompt
from skillsv.agents.model.tools import Tools, sendable
from skillsv.agents.model.working_folder import WorkingFolder
from skillsv.agents.options import AgentOptions
from skillsv.errors import AgentFailure, RolloutError, SettingsError
from skillsv.model.coalition import Rendering
from skillsv.model.rollout import Ending, FailureKind, Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS, sandbox_trouble
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.workspace import place_skill

_LONGEST_TRANSCRIPT = 200_000
_OWN_TIME = 0.98
"""Share of a rollout's time that the talk may take: the runner's clock, which knows no usage, must not strike first."""


class ChatAgent:
    """Answers a task by talking to a model. Its last words are the answer, be they right or wrong.

    A model that breaks its tool calls is told so and may go on; one that still calls tools after `turns` requests has
    answered with what it said last, or with nothing: the ending is `TURN_LIMIT`. An answer that the token limit cut has
    the ending `CUT`. An empty answer and trouble of the provider, of the connection and of the sandbox are failures.
    """

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._options = options
        self._chat = options.chat
        self._speaker = ModelClient(name, options)
        self._limits = replace(
            SANDBOX_LIMITS,
            seconds=self._chat.run_seconds,
            memory_bytes=options.memory_bytes or SANDBOX_LIMITS.memory_bytes,
            processes=options.processes or SANDBOX_LIMITS.processes,
        )
        if self._chat.tools == "all" and self._chat.sandbox and (trouble := sandbox_trouble()):
            raise SettingsError(
                f"programs of the model cannot be sandboxed: {trouble}",
                hint="Give it no programs to run (--tools files), or run them unprotected (--no-sandbox).",
            )

    @property
    def fingerprint(self) -> str:
        """Covers the model, the server, the decoding settings, delivery, tools and the words around the task."""
        limits = {name: value for name, value in asdict(self._limits).items() if name != "grace"}
        return self._speaker.fingerprint(VERSION, limits, self._options.skill_dir)

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Talk to the model until it answers, or until the time for one rollout is up. A failure says what it cost."""
        skill = None if skill is None or skill.empty else skill
        desk = self._desk(skill, workspace)
        try:
            return await self._talk_in_time(desk, skill, task, replicate)
        except RolloutError as failure:
            failure.usage = desk.usage + failure.usage if isinstance(failure.usage, Usage) else desk.usage
            raise

    async def _talk_in_time(self, desk: WorkingFolder, skill: Rendering | None, task: Task, replicate: int) -> Outcome:
        limit = self._options.timeout
        with anyio.move_on_after(None if limit is None else _OWN_TIME * limit):
            return await self._talk(desk, skill, task, replicate)
        raise AgentFailure(f"no answer within {limit:g} s.", kind=FailureKind.TIMEOUT)

    def _desk(self, skill: Rendering | None, workspace: Path) -> WorkingFolder:
        place = None
        if skill is not None and self._chat.tools != "none" and self._on_disk(skill):
            place = place_skill(skill, workspace, self._options.skill_dir).relative_to(workspace).as_posix()
        in_prompt = self._chat.deliver == "prompt" and skill is not None and bool(skill.text.strip())
        return WorkingFolder(
            folder=workspace,
            limits=self._limits,
            sandbox=self._chat.sandbox,
            skill=skill,
            place=place,
            opened=in_prompt,
        )

    def _on_disk(self, skill: Rendering) -> bool:
        """Whether there is anything to find on disk that is not in the prompt."""
        return self._chat.deliver == "files" or any(file.path != skill.main for file in skill.files)

    async def _talk(self, desk: WorkingFolder, skill: Rendering | None, task: Task, replicate: int) -> Outcome:
        tools = Tools(self._chat, skill=skill is not None)
        told = system_prompt(self._chat, skill, desk.place)
        messages: list[ModelMessage] = [
            ModelRequest(parts=[SystemPromptPart(content=told), TaskPart(content=task_prompt(task, self._chat))])
        ]
        answer, ending = "", Ending.TURN_LIMIT
        for _ in range(self._chat.turns):
            response, spent = await self._speaker.ask(messages, replicate, tools.definitions)
            desk.usage += spent
            answer = sendable(response.text or "")
            if not response.tool_calls:
                ending = Ending.CUT if is_cut(response) else Ending.ANSWERED
                break
            if answer:
                desk.log.append(answer)
            messages += [response, await _obey(tools, desk, response)]
        return self._outcome(answer, ending, desk)

    def _outcome(self, answer: str, ending: Ending, desk: WorkingFolder) -> Outcome:
        if len(answer.encode("utf-8", errors="replace")) > self._options.output_bytes:
            raise AgentFailure(
                f"the model answered more than {self._options.output_bytes} bytes.", kind=FailureKind.BAD_OUTPUT
            )
        # A key that the cut would split is not found afterwards.
        transcript = redact(sendable("\n\n".join(desk.log)))[:_LONGEST_TRANSCRIPT]
        return Outcome(
            answer=redact(answer),
            usage=desk.usage,
            transcript=transcript or None,
            opened=desk.opened,
            ending=ending,
        )


async def _obey(tools: Tools, desk: WorkingFolder, response: ModelResponse) -> ModelRequest:
    """Do what the model asked for, one after the other, and make the message that tells it what came of it."""
    returns = []
    for call in response.tool_calls:
        said = await tools.call(desk, call)
        desk.log.append(f"> {call.tool_name} {call.args_as_json_str()}\n{said}")
        returns.append(ToolReturnPart(tool_name=call.tool_name, content=said, tool_call_id=call.tool_call_id))
    return ModelRequest(parts=returns)
