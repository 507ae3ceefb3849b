"""The agents of LiveMathematicianBench: the one-turn protocol, scripted agents, and an agent that follows rules.

The agent `rules` solves a question only if the skill teaches the competences that the question needs. A question with
an option about a stronger result needs no knowledge: the agent takes that option, which is right as often as upstream
made it so. Any other question needs one competence, which its words decide; with it the agent knows the right label.
A question for the strongest statement needs the competence `ranking` as well. Without them the agent does not choose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from skillsv.extend.task_sources import AgentOptions
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.benchmark import ScriptedAgent, compile_patterns, find_competences
from skillsv_bench.chat_clients import make_chat_client
from skillsv_bench.conversation import ChatClient, Message, RolloutContext, transcript

_ROLE = "You are a research mathematician who answers multiple-choice questions."
"""The beginning of the system prompt."""

_FORMAT = """\
## Task format
You get one question about a theorem and its answer choices, each with a label. Exactly one choice is right.
Mind quantifiers, hypotheses, equality cases and how strong each statement is.

## Answer format
Think step by step, then give the label of your choice, and only the label, in answer tags, for example:
<answer>B</answer>"""
"""The end of the system prompt: the form of task and answer."""

COMPETENCE_PATTERNS = compile_patterns(
    {
        "stronger-option": r"\bstronger results?\b|\bmeta-?options?\b",
        "ranking": r"\bstrongest\b|\brank (them|the|all)\b|\blogical strength\b",
        "completeness": r"\bclassif(ication|y)|\bcharacteri[sz]ation",
        "equivalence": r"\bequivalen(ce|t)|\bbiconditional",
        "estimates": r"\bconstants?\b|\bexponents?\b|\binequalit(y|ies)\b",
        "quantifiers": r"\bquantifiers?\b",
        "hypotheses": r"\bhypothes[ie]s\b|\bassumptions?\b",
    }
)
"""The competences that the agent can have, and the words in a skill that teach each."""

_KINDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "completeness": r"\bcomplete\b|\bclassification\b|\blist\b",
        "equivalence": r"\bequivalent\b|\bif and only if\b|\bprecisely when\b|\bexactly when\b",
        "estimates": r"\bconstant\b|\bbound(s|ed)?\b|\bregularity\b|\bcomparison\b|\blimit\b",
        "quantifiers": r"\bfor (every|all|each)\b|\bevery\b|\bthere (is|exists?)\b",
    }.items()
}
"""The competence that a question needs: the first whose pattern matches its words, else `hypotheses`."""


def system_message(skill: Rendering | None) -> str:
    """Write the system prompt; without a skill it has no section for one."""
    text = skill.text.strip() if skill is not None else ""
    return "\n\n".join([_ROLE, *([f"## Skill\n{text}"] if text else []), _FORMAT])


def user_message(question: str, choices: Sequence[Mapping[str, str]]) -> str:
    """Write the user message: the question and its choices."""
    lines = "\n".join(f"{choice['label']}. {choice['text']}" for choice in choices)
    return f"## Question\n{question}\n\n## Choices\n{lines}"


class OneTurnAgent:
    """Asks a client the question once, with the skill in the system prompt."""

    def __init__(self, client: ChatClient) -> None:
        self._client = client

    @property
    def fingerprint(self) -> str:
        """The protocol's version and the client's fingerprint."""
        return f"livemath/1:{self._client.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one question."""
        messages = [Message(role="system", text=system_message(skill)), Message(role="user", text=task.input)]
        context = RolloutContext(skill=skill, task=task, replicate=replicate, workspace=workspace)
        reply = await self._client.reply(messages, context)
        return Outcome(
            answer=reply.text,
            usage=reply.usage,
            transcript=transcript([*messages, reply.message]),
            opened=skill is not None and not skill.empty,
            ending=reply.ending,
        )


def wrap_agent(spec: str, options: AgentOptions) -> Agent:
    """Make the agent that the user names, inside this protocol."""
    return OneTurnAgent(make_chat_client(spec, options))


def reference() -> ScriptedAgent:
    """Make the agent that answers with the right label."""
    return ScriptedAgent(fingerprint="livemath-reference/1", answer=lambda _, task: format_answer(str(task.target)))


def noop() -> ScriptedAgent:
    """Make the agent that answers with an empty text."""
    return ScriptedAgent(fingerprint="livemath-noop/1", answer=lambda _, __: "")


def always_a() -> ScriptedAgent:
    """Make the agent that always takes the first choice, which measures guessing."""
    return ScriptedAgent(fingerprint="livemath-always-a/1", answer=lambda _, __: format_answer("A"))


def format_answer(label: str) -> str:
    """Write a label in answer tags."""
    return f"<answer>{label}</answer>"


def read_competences(text: str) -> frozenset[str]:
    """Find the competences that a rendered skill teaches."""
    return find_competences(COMPETENCE_PATTERNS, text)


def find_needed_competences(task: Task) -> frozenset[str]:
    """Find the competences without which the agent does not answer this question."""
    question = str(task.metadata["question"])
    ranking = {"ranking"} if "strongest" in question.casefold() else set()
    if _find_stronger_option(task) is not None:
        return frozenset({"stronger-option", *ranking})
    kind = next((name for name, words in _KINDS.items() if words.search(question)), "hypotheses")
    return frozenset({kind, *ranking})


def answer(text: str, task: Task) -> str:
    """Answer one question with this skill."""
    if not find_needed_competences(task) <= read_competences(text):
        return "I cannot decide between the choices."
    return format_answer(_find_stronger_option(task) or str(task.target))


def read_choices(task: Task) -> Sequence[Mapping[str, str]]:
    """The choices of a question, each with `label` and `text`, as its metadata holds them."""
    return cast("Sequence[Mapping[str, str]]", task.metadata["choices"])


def _find_stronger_option(task: Task) -> str | None:
    choices = read_choices(task)
    return next((choice["label"] for choice in choices if "stronger result" in choice["text"].casefold()), None)


def rules() -> ScriptedAgent:
    """Make the agent that follows the rules in the skill."""
    return ScriptedAgent(fingerprint="livemath-rules/1", answer=answer, reads=True)
