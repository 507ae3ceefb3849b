"""The protocol of one question: asked once, answered once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillsv.agents import AgentOptions
from skillsv.model.coalition import Rendering
from skillsv.model.protocols import Agent
from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.benchmark import Scripted, learned, lessons
from skillsv_bench.chat_clients import make_chat_client
from skillsv_bench.conversation import ChatClient, Message, Situation, transcript

# Agents that need no model: the right label, nothing at all, always the first choice.


def reference() -> Scripted:
    """Knows the right label."""
    return Scripted(fingerprint="livemath-reference/1", answer=lambda _, task: tagged(task.target))


def noop() -> Scripted:
    """Says nothing."""
    return Scripted(fingerprint="livemath-noop/1", answer=lambda _, __: "")


def always_a() -> Scripted:
    """Takes the first choice, whatever it is: what chance is worth here."""
    return Scripted(fingerprint="livemath-always-a/1", answer=lambda _, __: tagged("A"))


def tagged(label: str) -> str:
    """A label as the protocol wants it."""
    return f"<answer>{label}</answer>"


# What is said to the model: the role, the skill where there is one, the form of the answer; then the question.

_ROLE = "You are a research mathematician who answers multiple-choice questions."

_FORMAT = """\
## Task format
You get one question about a theorem and its answer choices, each with a label. Exactly one choice is right.
Mind quantifiers, hypotheses, equality cases and how strong each statement is.

## Answer format
Think step by step, then give the label of your choice, and only the label, in answer tags, for example:
<answer>B</answer>"""


def system_message(skill: Rendering | None) -> str:
    """The system prompt; without a skill its section is absent."""
    text = skill.text.strip() if skill is not None else ""
    return "\n\n".join([_ROLE, *([f"## Skill\n{text}"] if text else []), _FORMAT])


def user_message(question: str, choices: Sequence[Mapping[str, str]]) -> str:
    """The question and its choices as the user asks them."""
    lines = "\n".join(f"{choice['label']}. {choice['text']}" for choice in choices)
    return f"## Question\n{question}\n\n## Choices\n{lines}"


class OneTurn:
    """Asks a speaker the question, with the skill in the system prompt."""

    def __init__(self, speaker: ChatClient) -> None:
        self._speaker = speaker

    @property
    def fingerprint(self) -> str:
        """The protocol's version and the speaker's own."""
        return f"livemath/1:{self._speaker.fingerprint}"

    async def run(self, skill: Rendering | None, task: Task, replicate: int, workspace: Path) -> Outcome:
        """Answer one question."""
        messages = [Message(role="system", text=system_message(skill)), Message(role="user", text=task.input)]
        situation = Situation(skill=skill, task=task, replicate=replicate, workspace=workspace)
        reply = await self._speaker.reply(messages, situation)
        return Outcome(
            answer=reply.text,
            usage=reply.usage,
            transcript=transcript([*messages, reply.message]),
            opened=skill is not None and not skill.empty,
            ending=reply.ending,
        )


def around(spec: str, options: AgentOptions) -> Agent:
    """The agent that the user names, asked by this protocol."""
    return OneTurn(make_chat_client(spec, options))


# An agent that can only do what the skill tells it: each habit it finds in the text makes a kind of question solvable.
# A question with an option about a stronger result is solved by taking that option, which needs no knowledge at all,
# and is right as often as upstream made it so. Any other question is solved by one habit, which its words decide; the
# agent then knows the right label. Where the question asks for the strongest statement, it must know that statements
# are to be ranked, too. Without the habits that a question needs it does not choose.

HABITS = lessons(
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
"""What the agent can learn, and the words by which it recognises the lesson."""

_KINDS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "completeness": r"\bcomplete\b|\bclassification\b|\blist\b",
        "equivalence": r"\bequivalent\b|\bif and only if\b|\bprecisely when\b|\bexactly when\b",
        "estimates": r"\bconstant\b|\bbound(s|ed)?\b|\bregularity\b|\bcomparison\b|\blimit\b",
        "quantifiers": r"\bfor (every|all|each)\b|\bevery\b|\bthere (is|exists?)\b",
    }.items()
}
"""Which habit a question needs, by its own words: the first that matches; hypotheses matter everywhere else."""


def competences(text: str) -> frozenset[str]:
    """The habits that a rendered skill teaches."""
    return learned(HABITS, text)


def needs(task: Task) -> frozenset[str]:
    """The habits without which the agent does not answer this question."""
    question = task.metadata["question"]
    ranking = {"ranking"} if "strongest" in question.casefold() else set()
    if _stronger_option(task) is not None:
        return frozenset({"stronger-option", *ranking})
    kind = next((name for name, words in _KINDS.items() if words.search(question)), "hypotheses")
    return frozenset({kind, *ranking})


def answer(text: str, task: Task) -> str:
    """The agent's answer with this skill."""
    if not needs(task) <= competences(text):
        return "I cannot decide between the choices."
    return tagged(_stronger_option(task) or task.target)


def _stronger_option(task: Task) -> str | None:
    choices = task.metadata["choices"]
    return next((choice["label"] for choice in choices if "stronger result" in choice["text"].casefold()), None)


def rules() -> Scripted:
    """The agent that follows the rules it finds."""
    return Scripted(fingerprint="livemath-rules/1", answer=answer, reads=True)
