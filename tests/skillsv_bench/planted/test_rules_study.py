"""The ablation of R3, R8 and R9 on the planted rule game, and on any skill."""

import pytest

from skillsv.compiler import CompileOptions
from skillsv_bench.planted import Noise
from skillsv_bench.planted.rule_game import make_rule_game, needed_marks, rule_skill
from skillsv_bench.planted.rules_study import ALL_RULES, ablate_skill, study_rules
from skillsv_bench.planted.studies import Setting


@pytest.fixture(scope="module")
def rows():
    return {row.rules: row for row in study_rules(Setting(chains=12, tolerance=0.05), games=(0, 1))}


def edges(game):
    mark_of = {unit: mark for mark, unit in game.unit_of.items()}
    return {
        (mark_of[edge.source], mark_of[edge.target], edge.rule) for edge in game.compiled.edges if edge.rule != "R6"
    }


def test_the_compiler_finds_the_planted_needs_and_one_false_one():
    planted = {(mark, other) for mark, needs in needed_marks().items() for other in needs}
    found = edges(make_rule_game(0).compiled_with())
    false = {(source, target, rule) for source, target, rule in found if (source, target) not in planted}
    assert {(source, target) for source, target, _ in found} >= planted
    assert [rule for *_, rule in false] == ["R3"]
    hidden = edges(make_rule_game(0).compiled_with(hide_false=True))
    assert {(source, target) for source, target, _ in hidden} == planted
    assert {rule for *_, rule in found} == {"R3", "R8", "R9"}


def test_a_unit_without_what_it_needs_loses_a_task_that_the_bare_agent_solves():
    game = make_rule_game(0).compiled_with(frozenset({"R3", "R8", "R9"}))
    misled = next(
        task for task in game.tasks if task.metadata["planted"].get("all") and task.metadata["planted"]["base"] > 0
    )
    ((names, _),) = misled.metadata["planted"]["all"]
    child, parent = (game.unit_of[name] for name in names)
    column = game.tasks.index(misled)
    together, broken = (
        game.chances(game.column_mask([frozenset(units)]), Noise())[0, column] for units in ((child, parent), (child,))
    )
    assert (together, broken) == (1.0, 0.0)


def test_only_ablated_rules_break_prefixes(rows):
    assert rows[ALL_RULES].broken == 0.0
    single = [rows[f"without {rule}"] for rule in ("R3", "R8", "R9")]
    assert all(row.broken > 0.05 for row in single)
    assert rows["without R3, R8, R9"].broken > max(row.broken for row in single)
    assert [row.edges for row in rows.values()] == [16, 13, 10, 9, 0]
    assert all(row.closure < rows[ALL_RULES].closure for row in single)


def test_all_rules_come_closest_to_the_true_values(rows):
    exact = [row.exact_error for row in rows.values()]
    assert exact[0] == min(exact)
    assert 0 < exact[0] < 0.3  # the false edge costs something
    assert exact[-1] == max(exact)
    assert rows[ALL_RULES].difference is None
    for name, row in rows.items():
        if name != ALL_RULES:
            assert row.difference == pytest.approx(row.area - rows[ALL_RULES].area)
            assert row.low <= row.difference <= row.high


def test_any_skill_has_a_structure_under_every_ablation():
    found = ablate_skill(rule_skill(), CompileOptions(without=frozenset({"R1"})))
    assert [row.rules for row in found] == [
        ALL_RULES,
        "without R3",
        "without R8",
        "without R9",
        "without R3, R8, R9",
    ]
    assert [row.broken > 0 for row in found] == [False, True, True, True, True]
