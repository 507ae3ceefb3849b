"""A typed program that uses only public names. A test runs it, and mypy must find no `Any` in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

import skillsv as sv

TEXT = """---
name: colours
description: Knows colours.
---
# Colours

- red
- green
- a remark
"""


def answer(skill: sv.SkillView | None, task: sv.TaskView) -> str:
    """Know the colours that the skill names."""
    hint: object = task.metadata.get("hint")
    return "yes" if skill is not None and task.input in skill.text and hint is None else "no"


async def answer_later(skill: sv.SkillView | None, task: sv.TaskView) -> sv.Outcome:
    """The same as an async function with a full outcome."""
    return sv.Outcome(answer=answer(skill, task), transcript=str(task.folder))


class HasText(Protocol):
    """What the agent below reads of a rendering."""

    @property
    def text(self) -> str:
        """The main Markdown file."""


class CarefulAgent:
    """An agent as an object, with its own fingerprint."""

    fingerprint = "careful/1"

    async def run(self, skill: HasText | None, task: sv.Task, replicate: int, workspace: Path) -> sv.Outcome:
        """Know the colours that the skill names."""
        known = skill is not None and task.input in skill.text
        return sv.Outcome(answer="yes" if known else f"no {replicate} {workspace.name}")


class ExactVerifier:
    """A verifier as an object."""

    async def score(self, task: sv.Task, outcome: sv.Outcome, workspace: Path) -> float:
        """Compare with the target."""
        return 1.0 if outcome.answer == task.target and workspace.name else 0.0


def grade(task: sv.TaskView, text: str) -> float:
    """Compare with the target."""
    return 1.0 if text == task["target"] else 0.0


def evaluate(text: str, example: str) -> float:
    """Score a candidate text on one example."""
    return 1.0 if example in text else 0.0


def make_tasks() -> list[sv.Task]:
    """Tasks as objects."""
    colours = ("red", "green", "blue")
    return [sv.Task(id=f"t{index}", input=colours[index % 3], target="yes") for index in range(24)]


def describe_skill(skill: sv.Skill) -> list[str]:
    """Units, edges, findings, orders and one rendering."""
    lines = [f"{unit.id} {unit.kind} {unit.lines.first} {unit.section}" for unit in skill.units]
    lines += [f"{edge.source} needs {edge.target}: {edge.rule}" for edge in skill.edges]
    lines += [f"{finding.code} {finding.severity} {finding.line}" for finding in sv.lint(skill)]
    lines += [" ".join(order) for order in sv.orders(skill, n=3, seed=7)]
    rendering = sv.render(skill, drop="colours/bullet-3")
    document = skill.to_dict()
    kinds = {unit["kind"] for unit in document["units"]}
    return [*lines, rendering.text, str(rendering.tokens), document["digest"], *sorted(kinds)]


def describe_plan(plan: sv.Plan) -> str:
    """The forecast in words and as data."""
    cost = plan.to_dict()["expected"]
    money: float | None = plan.expected.usd
    return f"{plan.low.rollouts} to {plan.high.rollouts}, {cost['rollouts']}, {money}, {plan.notes}, {plan}"


def describe_valuation(valuation: sv.Valuation) -> list[str]:
    """Values by unit, anchors, closure, sections, and the JSON."""
    unit = valuation["colours/bullet-1"]
    lines = [f"{unit.id} {unit.net.value} {unit.net.low} {unit.action} {unit.verdict.reason} {unit.text}"]
    lines += [f"{row.id} {row.content.high if row.content is not None else None}" for row in valuation.units]
    lines += [f"{valuation.anchors.full.value} {valuation.closure.sum.value} {valuation.content_lift.low}"]
    lines += [f"{section.path} {section.net.value}" for section in valuation.sections]
    document = valuation.to_dict()
    nets: list[float | None] = [row["net"]["value"] for row in document["units"]]
    seed: object = document["settings"]["seed"]
    rows: list[dict[str, object]] = valuation.rows()
    figure = valuation.plot("bars")
    return [*lines, *valuation.notes, f"{nets} {seed} {len(rows)} {figure.svg}", document["skill"]["name"]]


def describe_proof(proof: sv.Proof) -> str:
    """Old against new."""
    document = proof.to_dict()
    return f"{proof.tasks} {proof.change.value} {proof.at_worst} {proof.met} {document['delta']['low']} {proof.notes}"


def shorten(run: sv.Run, folder: Path) -> sv.ShorterSkill:
    """Prune a run and write the result."""
    short = sv.prune(run, max_drop=1)
    short.write(folder)
    assert short.tokens_after <= short.tokens_before
    assert all(step.unit in step.removed for step in short.steps)
    assert short.files.keys() == short.files_before.keys()
    return short


def shrink(folder: Path) -> sv.ShrunkSkill:
    """A shorter text and its proof, from one budget."""
    short = sv.shrink(TEXT, evaluate=evaluate, examples=["red", "green"] * 60, max_rollouts=400, run_dir=folder)
    assert short.tokens_after <= short.tokens_before
    return short


def patient(skill: sv.SkillView | None, task: sv.TaskView) -> str:
    """An agent that knows red without the skill."""
    return "yes" if task.input == "red" or (skill is not None and task.input in skill.text) else "no"


def compare(folder: Path) -> sv.Matrix:
    """Two agents on the same tasks."""
    found = sv.matrix(
        TEXT, tasks=make_tasks(), agents={"patient": patient, "careful": CarefulAgent()}, verifier=grade,
        max_rollouts=200, panel_b=0, run_dir=folder,
    )  # fmt: skip
    assert found.document["schema"] == "skillsv.matrix/1"
    assert len(found.rows()) == len(found.to_csv().splitlines()) - 1
    return found


async def shrink_later(folder: Path) -> str:
    """The same for async callers, which tells the outcome."""
    short = await sv.ashrink(
        TEXT, tasks=make_tasks(), agent=answer_later, verifier=grade, max_rollouts=400, run_dir=folder, keep_going=True
    )
    return f"{short.outcome} {short.removed} {short.to_dict()['tokens_after']}"


def choose(skill: sv.SkillView | None, task: sv.TaskView) -> str:
    """An agent that opens the skill for requests about colours."""
    return "colours" if "colour" in task.input.split("<request>")[1] else "none"


def trigger() -> float:
    """The recall of a description."""
    tasks = [{"input": "Which colour?", "should_trigger": True}, {"input": "Hello", "should_trigger": False}]
    recall = sv.trigger(TEXT, tasks=tasks, agent=choose, ask=True).recall
    return 0.0 if recall is None else recall.value


def refuse() -> str:
    """An error is an object with what happened and what to do."""
    try:
        sv.compile("no-such-skill")
    except sv.errors.SkillSVError as error:
        return f"{error.what} {error.where} {error.hint} {error.exit_code}"
    raise AssertionError


async def value_later(folder: Path) -> sv.Run:
    """The same for async callers."""
    return await sv.avalue(
        TEXT, tasks=make_tasks(), agent=answer_later, verifier=grade, max_rollouts=300, run_dir=folder
    )


def main(folder: Path) -> list[str]:
    """Use every public function."""
    events: list[str] = []
    skill = sv.compile(TEXT)
    plan = sv.plan(skill, tasks=make_tasks(), agent=answer, max_rollouts=300, run_dir=folder / "run")
    run = sv.value(plan, progress=lambda event: events.append(type(event).__name__))
    short = shorten(run, folder / "short")
    proof = sv.confirm(run, short, max_drop=40, max_rollouts=300)
    later = asyncio.run(value_later(folder / "later"))
    again = sv.load_run(folder / "later", level=0.9)
    proven = asyncio.run(sv.aconfirm(later, sv.prune(later), max_drop=40, max_rollouts=300))
    agent: sv.Agent = CarefulAgent()
    verifier: sv.Verifier = ExactVerifier()
    careful = sv.value(skill, tasks=make_tasks(), agent=agent, verifier=verifier, max_rollouts=300)
    examples = ["red", "green", "blue", "grey"]
    scored = sv.value(TEXT, evaluate=evaluate, examples=examples, max_rollouts=100, panel_b=0)
    return [
        *describe_skill(skill),
        describe_plan(plan),
        *describe_valuation(run.valuation),
        describe_proof(proof),
        describe_proof(proven),
        refuse(),
        f"{shrink(folder / 'shrink').outcome} {asyncio.run(shrink_later(folder / 'ashrink'))} {trigger()}",
        f"{compare(folder / 'matrix').agents}",
        f"{run.complete} {run.error} {run.folder} {run.skill.name} {again.valuation.provisional} {len(events)}",
        f"{scored.valuation.rollouts.spent} {careful.valuation.rollouts.failed}",
        str(run.report(folder / "report.html")),
        sv.__version__,
    ]
