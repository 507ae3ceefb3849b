"""Inspect tasks for the tests. Their mock model knows only what the prompt or the skill tool tells it."""

from __future__ import annotations

import anyio
from anyio.lowlevel import checkpoint
from inspect_ai import Task, task
from inspect_ai.agent import as_solver, react
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, choice, includes, scorer
from inspect_ai.solver import generate, multiple_choice, solver, system_message

from skillsv.agents.inspect import skill_from_sample, skill_tools

FACTS = {"sky": "blue", "grass": "green"}


def make_output(content):
    output = ModelOutput.from_content("mockllm/model", content)
    output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=15, input_tokens_cache_read=3)
    return output


def answer_from_messages(messages, tools, tool_choice, config):
    """Answers from the texts of the conversation."""
    thing = messages[-1].text.split()[-1].rstrip("?")
    known = any(f"The {thing} is {FACTS.get(thing)}." in message.text for message in messages[:-1])
    return make_output(FACTS[thing] if known else "I do not know")


def answer_from_skill(messages, tools, tool_choice, config):
    """Opens the skill if it has the tool and the question does not say `hastily`."""
    if messages[-1].role == "tool":
        return make_output("blue" if "The sky is blue." in messages[-1].text else "I read it in vain")
    if "skill" in [tool.name for tool in tools] and "hastily" not in messages[-1].text:
        output = ModelOutput.for_tool_call("mockllm/model", "skill", {"command": "faq"})
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output
    return make_output("I do not know")


def mock(outputs):
    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def samples(repeat):
    return [
        Sample(id=f"{thing}-{number}", input=f"({number}) What colour is the {thing}?", target=colour)
        for thing, colour in FACTS.items()
        for number in range(repeat)
    ]


@task
def colours(repeat: int = 1):
    return Task(
        dataset=samples(repeat),
        solver=[system_message("Use this skill:\n{skill}"), generate()],
        scorer=includes(),
        model=mock(answer_from_messages),
    )


STRUCK = anyio.Event()


@solver
def weather():
    """One sample raises an error while the others still run."""

    async def solve(state, generate):
        if "storm" in state.input_text:
            raise RuntimeError("lightning struck with sk-very-secret-0123456789")
        await STRUCK.wait()
        for _ in range(1000):
            await checkpoint()
        return await generate(state)

    return solve


async def clear_up(state):
    if "storm" in state.input_text:
        STRUCK.set()


@task
def stormy():
    solvers = [system_message("{skill}"), weather()]
    return Task(
        dataset=samples(1), solver=solvers, scorer=includes(), cleanup=clear_up, model=mock(answer_from_messages)
    )


@task
def by_tool():
    return Task(
        dataset=samples(1),
        solver=[skill_from_sample(), generate()],
        scorer=includes(),
        sandbox="local",
        model=mock(answer_from_skill),
    )


@solver
def reacting():
    async def solve(state, generate):
        return await as_solver(react(tools=skill_tools(state), submit=False))(state, generate)

    return solve


@task
def by_react():
    return Task(
        dataset=samples(1), solver=reacting(), scorer=includes(), sandbox="local", model=mock(answer_from_skill)
    )


@task
def no_scorer():
    return Task(dataset=samples(1), solver=[system_message("{skill}"), generate()], model=mock(answer_from_messages))


@task
def no_model():
    return Task(dataset=samples(1), solver=generate(), scorer=includes())


@scorer(metrics=[accuracy()])
def broken():
    async def score(state, target):
        raise RuntimeError("scored although nobody asked")

    return score


@task
def broken_scorer():
    return Task(
        dataset=samples(1),
        solver=[system_message("{skill}"), generate()],
        scorer=broken(),
        model=mock(answer_from_messages),
    )


@scorer(metrics={"first": [accuracy()], "second": [accuracy()]})
def graded():
    async def score(state, target):
        return Score(value={"first": 0.25, "second": "C"})

    return score


@task
def in_parts():
    return Task(
        dataset=samples(1),
        solver=[system_message("{skill}"), generate()],
        scorer=graded(),
        model=mock(answer_from_messages),
    )


@solver
def reads_a_file():
    async def solve(state, generate):
        from inspect_ai.util import sandbox

        state.output = ModelOutput.from_content("none", await sandbox().read_file("note.txt"))
        return state

    return solve


@task
def with_file():
    return Task(dataset=samples(1), solver=reads_a_file(), scorer=includes(), sandbox="local", model="mockllm/model")


@task
def quiz():
    """A task with choices, which SkillSV tasks do not have."""
    return Task(
        dataset=[Sample(id="q", input="Which is a colour?", choices=["left", "blue"], target="B")],
        solver=multiple_choice(),
        scorer=choice(),
        model=mock(lambda messages, *_: make_output("ANSWER: B" if "B) blue" in messages[-1].text else "ANSWER: A")),
    )


def nothing():
    return "not a task"
