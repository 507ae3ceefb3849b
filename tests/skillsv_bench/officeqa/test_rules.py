"""The agent that follows rules: it really searches, its game is known, and the estimate finds it."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations

import anyio
import pytest

from skillsv.sandbox import fresh_workspace
from skillsv_bench.officeqa import BENCHMARK
from skillsv_bench.officeqa.rules import (
    COMPETENCE_PATTERNS,
    OUT_OF_REACH,
    find_needed_competences,
    parse_question,
    read_competences,
)
from skillsv_bench.officeqa.tools import read_table_row, scale_of

SENTENCES = {
    "search": "Search for the row's name.",
    "columns": "Go by the column header.",
    "basis": "Fiscal years are not calendar years.",
    "units": "Convert to the unit of the question.",
    "change": "A change from A to B is B minus A.",
    "all-documents": "Look into all documents.",
}


@pytest.mark.parametrize("competence", COMPETENCE_PATTERNS)
def test_each_sentence_teaches_its_own_competence(competence):
    assert read_competences(SENTENCES[competence]) == {competence}


def test_nothing_is_learnt_from_nothing():
    assert read_competences("") == read_competences("Drink tea. blank blank blank") == frozenset()


def test_each_question_needs_what_its_documents_demand(tasks):
    assert {name: set(find_needed_competences(task)) - {"search"} for name, task in tasks.items()} == {
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


@pytest.mark.heavy
def test_the_verifier_agrees_with_the_known_game(tasks, rendering):
    agent, verifier = BENCHMARK.builtin_agents["rules"](), BENCHMARK.verifier()
    known = {name: find_needed_competences(task) for name, task in tasks.items()}

    async def play() -> None:
        for size in range(len(SENTENCES) + 1):
            for competences in combinations(SENTENCES, size):
                skill = (
                    rendering("\n".join(SENTENCES[competence] for competence in competences)) if competences else None
                )
                for name, task in tasks.items():
                    async with fresh_workspace(task) as workspace:
                        outcome = await agent.run(skill, task, 0, workspace)
                    score = await verifier.score(task, outcome, workspace)
                    assert score == float(known[name] <= set(competences)), (name, competences, outcome.answer)

    anyio.run(play)


def test_it_really_uses_the_three_tools(tasks, rendering):
    task = tasks["VID0010"]

    async def main():
        async with fresh_workspace(task) as workspace:
            return await BENCHMARK.builtin_agents["rules"]().run(
                rendering("\n".join(SENTENCES.values())), task, 0, workspace
            )

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
    wanted = parse_question(question)
    assert (wanted.row, wanted.fiscal, wanted.years, wanted.scale) == (row, fiscal, years, scale)


def test_questions_it_does_not_understand():
    assert parse_question("Who was the master of the harbour?") is None


def test_a_row_is_read_with_its_header_and_title():
    lines = [
        "Title, fiscal year, in thousands of x",
        "",
        "| Item | 1969 | 1970 |",
        "| --- | --- | --- |",
        "| a | 1 | 2 |",
        "| b | n.a. | 1,234.5 |",
    ]
    figures = read_table_row(lines)
    assert (figures.row, figures.fiscal, figures.scale) == ("b", True, 1000)
    assert figures.by_year == {"1970": Decimal("1234.5")}
    assert read_table_row(lines[:1]) is None
    assert read_table_row([]) is None
    assert read_table_row(["| alone | 1 |"]) is None
    assert scale_of("in billions") == 1_000_000_000


SKILL = "# Bulletins\n\n" + "\n".join(f"- {sentence}" for sentence in (*SENTENCES.values(), "Drink tea.")) + "\n"


@pytest.mark.heavy
def test_the_estimate_finds_the_known_game_under_both_operators(data, known_game):
    flags = {"orders": 12, "window": 9, "panel_a": 9, "panel_b": 0, "operators": "delete,pad"}
    estimate, truth = known_game(
        "officeqa", data, SKILL, flags, split="test", competences=read_competences, needs=find_needed_competences
    )
    assert estimate.anchors.full.value == 1.0
    assert 0.9 <= estimate.closure.ratio <= 1.1
    for unit in estimate.units:
        assert abs(unit.net.value - truth[unit.id]) <= 4 * unit.standard_error + 1e-9, unit.id
        assert unit.cost.value == pytest.approx(0.0)  # padding takes room and teaches nothing
    assert estimate.units[-1].net.value == 0.0
