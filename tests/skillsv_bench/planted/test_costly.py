"""Both operators end to end: real renderings, an agent that long texts confuse, exact truth, and the verdict."""

from pathlib import Path

import numpy as np
import pytest

from skillsv.agents.planted import make_planted, read_marks
from skillsv.compiler import compile_files
from skillsv.decide import verdicts
from skillsv.estimate import EstimateOptions, estimate_chains
from skillsv.model.coalition import ChainPlan, Operator
from skillsv.model.skill import FileRole, Skill, SkillFile
from skillsv.model.task import PanelA
from skillsv.model.value import Action
from skillsv.order import Sampler, exact_values
from skillsv.rendering import Renderer
from skillsv.rollout.chain_policy import chain_policy
from skillsv.tasks import draw_window
from skillsv_bench.planted.game import make_task

LONG = " ".join(f"Consider also aspect number {number} of the matter at hand." for number in range(12))
TEXT = f"""---
name: costly
description: One piece is useful and far too long.
---

## Pieces

- A short rule [rule-01].
- {LONG} Then do it [rule-02].
- Another short rule [rule-03].
- Nothing of use [rule-04].
"""
BOTH = (Operator.DELETE, Operator.PAD)


def tasks():
    """Eight tasks for rule 1, eight for the long rule 2, eight that any long text spoils, eight for rule 3."""
    formulas = [{"base": -1.0, "main": {f"rule-0{rule}": 2.0}} for rule in (1, 2, 3)]
    formulas.insert(2, {"base": 1.0, "crowd": [80, 4.0]})
    return tuple(
        make_task(8 * place + number, f"kind-{place}", formula)
        for place, formula in enumerate(formulas)
        for number in range(8)
    )


class World:
    """Scores by rendering: what the agent is given is what the renderer writes."""

    def __init__(self):
        data = TEXT.encode()
        main = SkillFile(path="SKILL.md", role=FileRole.MAIN, data=data, size=len(data), digest="x")
        self.compiled = compile_files(Skill(name="costly", root=Path("costly"), main="SKILL.md", files=(main,)))
        self.tasks = tasks()
        self.agent, self.renderer = make_planted("rules"), Renderer(self.compiled)
        self.known = {}

    def scores(self, coalition, operator):
        if (coalition, operator) not in self.known:
            rendering = self.renderer.render(coalition, operator)
            sight = None if rendering.empty else read_marks(rendering.text)
            self.known[coalition, operator] = {task.id: float(self.agent.solves(sight, task)) for task in self.tasks}
        return self.known[coalition, operator]

    def truth(self, operator):
        values = exact_values(self.compiled, lambda kept: np.mean(list(self.scores(kept, operator).values())))
        return [values[unit] for unit in self.compiled.execution]

    def record(self, index, order, window, tolerance):
        plan = ChainPlan(index=index, order=order, window=window, operators=BOTH, tolerance=tolerance)
        walk = chain_policy(plan, self.compiled.trigger)
        wanted = next(walk)
        while True:
            answers = {request: self.scores(request.coalition, request.operator)[request.task] for request in wanted}
            try:
                wanted = walk.send(answers)
            except StopIteration as done:
                return done.value


@pytest.fixture(scope="module")
def world():
    return World()


def records(world, tolerance, chains=48):
    rng, panel = np.random.default_rng(3), PanelA(tasks=world.tasks)
    orders = Sampler(world.compiled).orders(rng, chains)
    return [world.record(k, order, draw_window(panel, 8, rng), tolerance) for k, order in enumerate(orders)]


def test_content_and_cost_are_told_apart(world):
    estimate = estimate_chains(world.compiled, records(world, None), EstimateOptions(seed=1))
    for unit, net, content in zip(estimate.units, world.truth(Operator.DELETE), world.truth(Operator.PAD), strict=True):
        assert unit.net.covers(net)
        assert unit.content is not None
        assert unit.cost is not None
        assert unit.content.covers(content)
        assert unit.cost.covers(content - net)
    long = estimate.units[1]
    assert long.content is not None
    assert long.cost is not None
    assert long.content.value == pytest.approx(0.25, abs=0.02)
    assert long.cost.low > 0.1
    found = verdicts(world.compiled, estimate, dict.fromkeys(world.compiled.execution, 10))
    assert [row.action for row in found] == [Action.KEEP, Action.COMPRESS, Action.KEEP, Action.IDLE]


def test_a_chain_stops_only_when_the_tolerance_holds_for_both_operators(world):
    cut = 0
    for record in records(world, 0.05, chains=24):
        full = np.mean(record.full)
        gaps = {
            step.position: max(
                abs(np.mean(other.scores) - full) for other in record.steps if other.position == step.position
            )
            for step in record.steps
        }
        near = [position for position, gap in gaps.items() if gap <= 0.05 and position < len(record.plan.order) - 1]
        assert record.truncated_at == (near[0] if near else None)
        cut += bool(near)
    assert cut
