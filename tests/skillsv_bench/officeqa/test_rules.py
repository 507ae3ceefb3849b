"""The agent that follows rules: it really searches, its game is known, and the estimate finds it."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations

import anyio
import pytest

from skillsv.sandbox import fresh_workspace
from skillsv_bench.officeqa import BENCHMARK
from skillsv_bench.officeqa.rules import HABITS, OUT_OF_REACH, competences, needs, understood
from skillsv_bench.officeqa.tools import figures_above, scale_of

LESSONS = {
    "search": "Search for the row's name.",
    "columns": "Go by the column header.",
    "basis": "Fiscal years are not calendar years.",
    "units": "Convert to the unit of the question.",
    "change": "A change from A to B is B minus A.",
    "all-documents": "Look into all documents.",
}


@pytest.mark.parametrize("habit", HABITS)
def test_each_habit_is_learnt_from_its_own_lesson(habit):
    assert competences(LESSONS[habit]) == {habit}


def test_nothing_is_learnt_from_nothing():
    assert competences("") == competences("Drink tea. blank blank blank") == frozenset()


def test_each_question_needs_what_its_documents_demand(tasks):
    assert {name: set(needs(task)) - {"search"} for name, task in tasks.items()} == {
        "VID0001": set(),
        "VID0002": set(),
        "VID0003": {"columns"},
        "VID0004": {"columns", "units"},
        "VID0005": {"basis"},
        "VID0006": {"basis", "columns", "units"},
        "VID0007": {"all-documents", "columns", "units"},
        "VID0008": {"change", "columns"},
        "VID0009": {"basis", "change", "columns"},
        "VID0010": {"all-documents", "change", "columns", "units"},
        "VID0011": {"all-documents", "columns"},
        "VID0012": {"units"},
        "VID0013": {OUT_OF_REACH},
        "VID0014": {"all-documents", "columns"},
    }


def test_the_verifier_agrees_with_the_known_game(tasks, rendering):
    agent, verifier = BENCHMARK.known["rules"](), BENCHMARK.verifier()
    known = {name: needs(task) for name, task in tasks.items()}

    async def play() -> None:
        for size in range(len(LESSONS) + 1):
            for habits in combinations(LESSONS, size):
                skill = rendering("\n".join(LESSONS[habit] for habit in habits)) if habits else None
                for name, task in tasks.items():
                    async with fresh_workspace(task) as workspace:
                        outcome = await agent.run(skill, task, 0, workspace)
                    score = await verifier.score(task, outcome, workspace)
                    assert score == float(known[name] <= set(habits)), (name, habits, outcome.answer)

    anyio.run(play)


def test_it_really_uses_the_three_tools(tasks, rendering):
    task = tasks["VID0010"]

    async def main():
        async with fresh_workspace(task) as workspace:
            return await BENCHMARK.known["rules"]().run(rendering("\n".join(LESSONS.values())), task, 0, workspace)

    outcome = anyio.run(main)
    assert outcome.answer == "<answer>181.0%</answer>"
    assert [outcome.transcript.count(f"> {tool} ") for tool in ("glob", "grep", "read")] == [1, 2, 4]


@pytest.mark.parametrize(
    ("question", "row", "fiscal", "years", "scale"),
    [
        ("What was the salt duty in 1970?", "salt duty", False, ("1970",), None),
        ("What were fees in fiscal year 1970, in millions of crowns?", "fees", True, ("1970",), 1_000_000),
        ("WHAT WAS rope in calendar year 1970 in crowns?", "rope", False, ("1970",), 1),
        ("By what percent did rope change from fiscal year 1969 to 1970?", "rope", True, ("1969", "1970"), None),
    ],
)
def test_questions_it_understands(question, row, fiscal, years, scale):
    wanted = understood(question)
    assert (wanted.row, wanted.fiscal, wanted.years, wanted.scale) == (row, fiscal, years, scale)


def test_questions_it_does_not_understand():
    assert understood("Who was the master of the harbour?") is None


def test_a_row_is_read_with_its_header_and_title():
    lines = [
        "Title, fiscal year, in thousands of x",
        "",
        "| Item | 1969 | 1970 |",
        "| --- | --- | --- |",
        "| a | 1 | 2 |",
        "| b | n.a. | 1,234.5 |",
    ]
    figures = figures_above(lines)
    assert (figures.row, figures.fiscal, figures.scale) == ("b", True, 1000)
    assert figures.by_year == {"1970": Decimal("1234.5")}
    assert figures_above(lines[:1]) is None
    assert figures_above([]) is None
    assert figures_above(["| alone | 1 |"]) is None
    assert scale_of("in billions") == 1_000_000_000


SKILL = "# Bulletins\n\n" + "\n".join(f"- {lesson}" for lesson in (*LESSONS.values(), "Drink tea.")) + "\n"


def test_the_estimate_finds_the_known_game_under_both_operators(data, known_game):
    flags = {"orders": 12, "window": 9, "panel_a": 9, "panel_b": 0, "operators": "delete,pad"}
    estimate, truth = known_game("officeqa", data, SKILL, flags, split="test", competences=competences, needs=needs)
    assert estimate.anchors.full.value == 1.0
    assert 0.9 <= estimate.closure.ratio <= 1.1
    for unit in estimate.units:
        assert abs(unit.net.value - truth[unit.id]) <= 4 * unit.standard_error + 1e-9, unit.id
        assert unit.cost.value == pytest.approx(0.0)  # padding takes room and teaches nothing
    assert estimate.units[-1].net.value == 0.0
