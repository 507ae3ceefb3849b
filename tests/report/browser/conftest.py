"""A real browser without network, and pages with everything that a report can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from skillsv.model.edit import Confirmation, CurvePoint, PruneStep, PruningCurve
from skillsv.model.value import Interval
from skillsv.report import page as report_page
from skillsv.report.edits import ShorterSkill
from skillsv.report.evidence import DecidingTask, Evidence, RelatedPair, UnitEvidence
from skillsv.report.run_facts import RunFacts
from skillsv.report.sentences import execution_units

REMOVED = b"- Give amounts in euros, with two decimals.\n"
"""The harmful line of the example, which the shorter skill does not have."""


@dataclass
class Opened:
    """A page with the requests and errors it caused."""

    page: object
    path: Path
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def assert_no_errors(self) -> None:
        own = self.path.as_uri()
        assert [address for address in self.requests if not address.startswith((own, "data:", "blob:"))] == []
        assert self.errors == []
        assert self.page.evaluate("window.violations") == []
        assert self.page.evaluate("window.executed") == []


@pytest.fixture
def opening(browser, watch_script, tmp_path) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def opened(
        text: str, *, anchor: str = "", width: int = 1440, height: int = 900, script: str = "", **options
    ) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(offline=True, viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        result = Opened(page=context.new_page(), path=path)
        if options.get("java_script_enabled", True):
            context.add_init_script(watch_script + script)
        result.page.on("request", lambda request: result.requests.append(request.url))
        result.page.on("pageerror", lambda error: result.errors.append(str(error)))
        result.page.on(
            "console", lambda message: message.type in {"error", "warning"} and result.errors.append(message.text)
        )
        result.page.goto(path.as_uri() + anchor)
        return result

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def shorter(case) -> ShorterSkill:
    """The example without its harmful line."""
    before = {file.path: file.data for file in case.compiled.skill.files}
    assert REMOVED in before["SKILL.md"]
    unit = next(unit for unit in case.valuation.units if unit.text.strip() == REMOVED.decode().strip())
    step = PruneStep(
        unit=unit.id, removed=(unit.id,), kept=case.compiled.everything - {unit.id}, tokens_left=190,
        share_removed=0.05, lost_value=-0.1,
    )  # fmt: skip
    return ShorterSkill(
        before=before, after={**before, "SKILL.md": before["SKILL.md"].replace(REMOVED, b"")}, main="SKILL.md",
        steps=(step,), tokens_before=200, tokens_after=190, full_score=0.8, confirmed=True,
    )  # fmt: skip


@pytest.fixture(scope="session")
def evidence(case) -> Evidence:
    """Two deciding tasks for each unit, and one pair."""
    units = execution_units(case.valuation)

    def example(unit, number):
        return DecidingTask(
            task=f"task-{number}", stratum=("parcels", "refunds")[number % 2], input=f"Where is parcel {number}?",
            expected="on its way", answer_with=f"on its way, by {unit.id}", answer_without="no idea",
            score_with=1.0, score_without=0.0, others=16 - number, most=16,
        )  # fmt: skip

    return Evidence(
        by_unit={
            unit.id: UnitEvidence(
                raised=("task-0", "task-1"), comparisons=9, examples=(example(unit, 0), example(unit, 1))
            )
            for unit in units
        },
        strata={"task-0": "parcels", "task-1": "refunds"},
        pairs=(RelatedPair(first=units[1].id, second=units[4].id, redundant=True),),
    )


@pytest.fixture(scope="session")
def text(case, shorter, evidence) -> str:
    """A page with every panel: proof, curves, shorter skill, evidence, transcripts and origin."""
    points_of_curve = tuple(
        CurvePoint(share_removed=share, tokens_left=9, score=Interval(score, score - 0.1, score + 0.1))
        for share, score in ((0.0, 0.8), (0.5, 0.8), (1.0, 0.2))
    )
    curve = PruningCurve(method="skillsv", points=points_of_curve, auc=Interval(0.6, 0.5, 0.7))
    proof = Confirmation(
        tasks=72, old=Interval(0.8, 0.7, 0.9), new=Interval(0.9, 0.8, 0.95), delta=Interval(0.1, 0.02, 0.2),
        tokens_old=200, tokens_new=190, curves=(curve,), at_worst=0.01, max_drop=0.05,
    )  # fmt: skip
    facts = RunFacts(
        folder=".skillsv/parcel-desk", run="2dc0b7346c1e", agent="python:agent.py:answer", agent_digest="e041514a12bb",
        tasks="tasks.jsonl", valued_tasks=48, held_out_tasks=72, date="17 Nov 2026", settings="method chain, seed 42",
        skill_digest=case.compiled.digest[:12], version="0.1.0",
        value_command="skillsv value parcel-desk --tasks tasks.jsonl --agent python:agent.py:answer",
    )  # fmt: skip
    return report_page(
        case.valuation, case.compiled, case.records, transcripts=case.rollouts, confirmation=proof, shorter=shorter,
        evidence=evidence, facts=facts,
    )  # fmt: skip


@pytest.fixture(scope="session")
def small_text(tmp_path_factory, make_long_case) -> str:
    """A page of four units: quick to check as a whole."""
    small = make_long_case(tmp_path_factory.mktemp("small") / "long-skill", 4)
    unit = execution_units(small.valuation)[0]
    example = DecidingTask(
        task="a", stratum="s", input="Which code?", expected="7", answer_with="7", answer_without="8", score_with=1.0,
        score_without=0.0, others=3, most=3,
    )  # fmt: skip
    found = UnitEvidence(raised=("a",), comparisons=1, examples=(example,))
    evidence = Evidence(by_unit={unit.id: found}, strata={"a": "s"})
    return report_page(small.valuation, small.compiled, small.records[:1], evidence=evidence)


@pytest.fixture(scope="session")
def long_text(tmp_path_factory, make_long_case) -> str:
    """A page of 300 units."""
    long = make_long_case(tmp_path_factory.mktemp("long") / "long-skill", 300)
    return report_page(replace(long.valuation, notes=()), long.compiled, long.records)
