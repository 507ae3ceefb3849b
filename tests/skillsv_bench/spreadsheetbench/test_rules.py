"""The agent that follows rules: its game is known, its programs are real, and the estimate finds what they are worth."""

from __future__ import annotations

from itertools import combinations

import anyio
import msgspec
import pytest

from skillsv.sandbox import fresh_workspace
from skillsv.sandbox.bubblewrap import find_sandbox_problem
from skillsv_bench.benchmark import Source
from skillsv_bench.spreadsheetbench import BENCHMARK
from skillsv_bench.spreadsheetbench.programs import libraries
from skillsv_bench.spreadsheetbench.prompt import INPUT
from skillsv_bench.spreadsheetbench.rules import (
    COMPETENCE_PATTERNS,
    FACTS,
    facts,
    find_needed_competences,
    program,
    read_competences,
)
from skillsv_bench.spreadsheetbench.tasks import load
from skillsv_bench.spreadsheetbench.verify import OUTPUT, matches, read_gold

TAUGHT = {
    "values": "Write literal values.",
    "sheet": "Write to the right sheet.",
    "position": "Fill the answer position.",
    "all-rows": "Go through all rows.",
    "numbers": "Keep numbers as numbers.",
    "dates": "Write real dates.",
    "blanks": "Leave blanks as empty cells.",
}


@pytest.mark.parametrize("lesson", COMPETENCE_PATTERNS)
def test_each_lesson_is_learnt_from_its_own_words(lesson):
    assert read_competences(TAUGHT[lesson]) == {lesson}


def test_nothing_is_learnt_from_nothing():
    assert read_competences("") == read_competences("# Spreadsheets\n\nDrink tea. filler filler") == frozenset()


@pytest.fixture
def tasks(data):
    shop = {"Shop": {"A1": "fruit"}}
    data.add("9-9", "B2:B3,Stock!A1", "", {**shop, "Stock": {"A1": "old"}}, {**shop, "Stock": {}})
    kept = {"Stock": {"B2": "kept"}}
    data.add("10-1", "B2,Stock!B2", "", {**shop, **kept}, {"Shop": {"A1": "fruit", "B2": "pear"}, **kept})
    return {task.id: task for task in load(Source(data=data.folder)).tasks}


NEEDS = {
    "101": {"values", "position", "numbers"},
    "7-12": {"values", "position", "sheet"},
    "202": {"values", "position", "dates"},
    "31-5": {"values", "position", "blanks"},
    "303": {"values", "position", "all-rows"},
    "9-9": {"position", "sheet", "blanks"},
    "10-1": {"values", "position"},  # what is put on the wrong sheet is right there already
}


def test_each_task_needs_what_its_cells_say(tasks):
    assert {name: set(find_needed_competences(task)) for name, task in tasks.items()} == NEEDS


@pytest.mark.heavy
@pytest.mark.parametrize(
    "sizes", [(0, 1, 6, 7), pytest.param(tuple(range(8)), marks=pytest.mark.heavy)], ids=["extremes", "all 128 sets"]
)
def test_the_verifier_agrees_with_the_known_game(tasks, tmp_path, monkeypatch, sizes):
    """Sets of lessons on all tasks: the programs run as they are, here without a sandbox around them."""
    for name, task in tasks.items():
        folder = tmp_path / f"work-{name}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        (folder / FACTS).write_bytes(msgspec.json.encode(facts(task)))
        areas, gold = read_gold(task)
        wanted = find_needed_competences(task)
        for size in sizes:
            for learned in map(frozenset, combinations(TAUGHT, size)):
                paths = {"INPUT_PATH": str(task.files[INPUT]), "OUTPUT_PATH": OUTPUT}
                exec(compile(program(learned), "solution.py", "exec"), paths)
                passed = matches(folder / OUTPUT, areas, gold)
                assert passed == (wanted <= learned), (name, sorted(learned))


@pytest.fixture
def sandbox():
    if error := find_sandbox_problem(libraries(sandbox=True).folders):
        pytest.skip(error)


def test_its_programs_run_in_the_sandbox(tasks, sandbox, rendering):
    async def score(task, skill):
        agent = BENCHMARK.builtin_agents["rules"]()
        async with fresh_workspace(task) as folder:
            outcome = await agent.run(skill, task, 0, folder)
            return await BENCHMARK.verifier().score(task, outcome, folder), outcome

    taught = rendering("\n".join(TAUGHT[name] for name in ("values", "position", "dates")))
    passed, outcome = anyio.run(score, tasks["202"], taught)
    assert passed == 1.0
    assert outcome.opened
    assert outcome.answer == program(frozenset({"values", "position", "dates"}))
    assert anyio.run(score, tasks["101"], taught)[0] == 0.0
    assert anyio.run(score, tasks["202"], None)[0] == 0.0


SKILL = """---
name: sheets
description: How to change workbooks.
---

# Sheets

## Writing

- Write literal values.
- Fill the answer position.

## Kinds

- Keep numbers as numbers.
- Write real dates.
- Drink tea.
"""


@pytest.mark.heavy
def test_the_estimate_finds_the_known_game(data, sandbox, known_game):
    flags = {"orders": 12, "window": 4, "tolerance": 0.0, "panel_a": 4, "panel_b": 1, "jobs": 2}
    estimate, truth = known_game(
        "spreadsheetbench",
        data.folder,
        SKILL,
        flags,
        split="all",
        competences=read_competences,
        needs=find_needed_competences,
    )
    assert estimate.anchors.full.value == pytest.approx(sum(truth.values()))
    assert estimate.anchors.full.value > 0
    assert 0.9 <= estimate.closure.ratio <= 1.1
    for unit in estimate.units:
        assert abs(unit.net.value - truth[unit.id]) <= 4 * unit.standard_error + 1e-9, unit.id
    tea = estimate.units[-1]
    assert tea.net.value == 0.0
    assert truth[tea.id] == pytest.approx(0.0)
