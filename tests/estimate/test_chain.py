"""The chain estimate: exact sums, refused records, notes, and the estimate as a table."""

import json
import math
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillsv.errors import RecordsError, SettingsError
from skillsv.estimate import EstimateOptions, estimate_chains, ranking_of
from skillsv.estimate.marginals import marginals
from skillsv.model.coalition import Operator
from skillsv.model.value import Evidence

UNITS = ("a", "b", "c", "d", "e")
TASKS = tuple(f"t{number}" for number in range(8))
BOTH = (Operator.DELETE, Operator.PAD)
FEW_UNITS = ("a", "b", "c", "d")
FEW_TASKS = TASKS[:3]


def additive(coalition, task, operator):
    return float(("a" in coalition and task < "t4") or ("b" in coalition and task == "t5"))


def chains(make_skill, make_chain, make_order, game=additive, count=12, operators=(Operator.DELETE,)):
    compiled, rng = make_skill(UNITS), np.random.default_rng(1)
    records = [make_chain(k, make_order(compiled, rng), TASKS, game, operators) for k in range(count)]
    return compiled, records


@pytest.mark.heavy
@given(data=st.data(), count=st.integers(1, 4), width=st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_marginals_of_a_chain_add_up_to_the_lift_exactly(make_skill, make_chain, data, count, width):
    compiled, tasks = make_skill(UNITS), TASKS[:width]
    # Dyadic scores and windows of 2^k tasks: floating point holds every sum exactly, so "exactly" means ==.
    scores = st.integers(0, 16).map(lambda number: number / 16)
    table: dict[tuple[frozenset[str], str, Operator], float] = {}

    def game(coalition, task, operator):
        rendered = Operator.DELETE if len(coalition) == len(UNITS) + 1 else operator
        return table.setdefault((coalition, task, rendered), data.draw(scores))

    orders = [("m", *data.draw(st.permutations(UNITS))) for _ in range(count)]
    records = [make_chain(k, order, tasks, game, BOTH) for k, order in enumerate(orders)]
    for number, operator in enumerate(BOTH):
        rows = marginals(compiled, records, operator).change.sum(axis=1)
        for record, total in zip(records, rows, strict=True):
            assert total == sum(record.full) / width - sum(record.trigger[number]) / width
    estimate = estimate_chains(compiled, records)
    assert estimate.closure.sum.value == pytest.approx(estimate.content_lift.value, abs=1e-12)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_content_is_net_plus_cost_to_the_last_bit(make_skill, make_chain, make_order, seed):
    rng, compiled = np.random.default_rng(seed), make_skill(UNITS)
    records = [
        make_chain(k, make_order(compiled, rng), TASKS[:7], lambda *_: float(rng.random()), BOTH) for k in range(3)
    ]
    for unit in estimate_chains(compiled, records).units:
        assert unit.content is not None
        assert unit.cost is not None
        assert unit.content.value == unit.net.value + unit.cost.value


def test_values_of_a_known_game(make_skill, make_chain, make_order):
    estimate = estimate_chains(*chains(make_skill, make_chain, make_order))
    assert [unit.net.value for unit in estimate.units] == [0.5, 0.125, 0.0, 0.0, 0.0]
    assert estimate.content_lift.value == estimate.closure.sum.value == 0.625
    assert estimate.closure.ratio == 1.0
    assert estimate.closure.covered
    assert estimate.anchors.full.value == 0.625
    assert estimate.truncation_share == 1.0
    assert {section.path: section.net.value for section in estimate.sections} == {
        (): 0.625,
        ("One",): 0.625,
        ("Two",): 0.0,
    }


def test_context_cost_is_content_minus_net(make_skill, make_chain, make_order):
    def crowded(coalition, task, operator):
        # Unit c helps two tasks, but its length costs one of them under deletion: the padded text is always long.
        if operator is Operator.PAD:
            return float("c" in coalition and task in {"t0", "t1"})
        return float("c" in coalition and task == "t0") if len(coalition) < 6 else float(task in {"t0", "t1"})

    _, records = chains(make_skill, make_chain, make_order, crowded, 24, BOTH)
    unit = estimate_chains(make_skill(UNITS), records).unit("c")
    assert unit.content is not None
    assert unit.content.value == 0.25
    assert unit.net.value < 0.25


def test_a_missing_score_leaves_its_task_out_on_both_sides(make_skill, make_chain):
    compiled = make_skill(("a", "b"))

    def holed(coalition, task, operator):
        if coalition == {"m", "a"} and task == "t0":
            return None
        return float("a" in coalition)

    record = make_chain(0, ("m", "a", "b"), ("t0", "t1"), holed)
    estimate = estimate_chains(compiled, [record, replace(record, plan=replace(record.plan, index=1))])
    assert estimate.unit("a").net.value == 1.0  # t1 alone; a zero in place of None would give 1/2
    assert estimate.unit("b").net.value == 0.0
    assert estimate.missing == 2


def test_a_step_without_any_score_is_left_out(make_skill, make_chain):
    compiled = make_skill(("a", "b"))
    complete = make_chain(0, ("m", "a", "b"), ("t0",), lambda kept, *_: float("b" in kept))
    incomplete = make_chain(
        1, ("m", "b", "a"), ("t0",), lambda kept, *_: None if kept == {"m", "b"} else float("b" in kept)
    )
    estimate = estimate_chains(compiled, [complete, incomplete])
    assert estimate.unit("b").net.value == 1.0
    assert any("missing" in note for note in estimate.notes)


def test_units_that_truncation_left_untested_have_no_value(make_skill, make_chain):
    compiled = make_skill(UNITS)
    record = make_chain(0, ("m", "a", "b", "c", "d", "e"), TASKS, additive, truncated_at=2)
    estimate = estimate_chains(compiled, [record, replace(record, plan=replace(record.plan, index=1))])
    assert estimate.truncation_share == 2 / 4
    assert [unit.samples for unit in estimate.units] == [2, 2, 0, 0, 0]
    assert estimate.unit("e").evidence is Evidence.UNRESOLVED  # never tested is not "shown to be zero"
    assert [unit.has_value for unit in estimate.units] == [True, True, False, False, False]
    assert (estimate.unit("e").net.low, estimate.unit("e").net.high) == (-1.0, 1.0)
    assert estimate.unit("e").plain is None
    assert any("never tested" in note for note in estimate.notes)
    assert estimate.closure.sum.value == 0.625
    assert ranking_of(estimate).values["e"].value == 0.0


def test_a_unit_whose_padded_steps_all_failed_has_a_net_effect_but_no_cost(make_skill, make_chain):
    compiled = make_skill(("a", "b", "c"))

    def holed(coalition, task, operator):
        failed = operator is Operator.PAD and len(coalition) == 3
        return None if failed else float("a" in coalition)

    record = make_chain(0, ("m", "a", "b", "c"), TASKS, holed, BOTH)
    unit = estimate_chains(compiled, [record, replace(record, plan=replace(record.plan, index=1))]).unit("b")
    assert unit.net.value == 0.0
    assert [math.isnan(interval.value) for interval in (unit.content, unit.cost)] == [True, True]
    assert [(interval.low, interval.high) for interval in (unit.content, unit.cost)] == [(-1.0, 1.0)] * 2


def test_a_note_says_that_truncation_left_all_units_untested(make_skill, make_chain):
    record = make_chain(0, ("m", *UNITS), TASKS, lambda *_: 1.0, truncated_at=0)
    estimate = estimate_chains(make_skill(UNITS), [record, record])
    assert any("no unit has a value" in note for note in estimate.notes)
    assert not any(unit.has_value for unit in estimate.units)
    assert all(math.isnan(section.net.value) for section in estimate.sections)
    assert {unit.evidence for unit in estimate.units} == {Evidence.UNRESOLVED}


def test_one_chain_gives_the_possible_range_and_a_note(make_skill, make_chain, make_order):
    compiled, records = chains(make_skill, make_chain, make_order, count=1)
    estimate = estimate_chains(compiled, records)
    assert {(unit.net.low, unit.net.high, unit.evidence) for unit in estimate.units} == {
        (-1.0, 1.0, Evidence.UNRESOLVED)
    }
    assert all(unit.plain is None for unit in estimate.units)
    assert (estimate.anchors.full.low, estimate.anchors.full.high) == (0.0, 1.0)
    assert any("One chain" in note for note in estimate.notes)


def test_a_unit_that_renders_the_same_bytes_is_identical(make_skill, make_chain, make_order):
    compiled, records = chains(make_skill, make_chain, make_order)
    estimate = estimate_chains(compiled, records, EstimateOptions(identical=frozenset({"e", "a"})))
    assert estimate.unit("e").evidence is Evidence.IDENTICAL
    assert (estimate.unit("e").net.low, estimate.unit("e").net.high) == (0.0, 0.0)
    assert estimate.unit("a").evidence is Evidence.POSITIVE  # the scores say otherwise
    assert any("not repeatable" in note for note in estimate.notes)


def test_the_same_records_give_the_same_estimate(make_skill, make_chain, make_order):
    compiled, records = chains(make_skill, make_chain, make_order)
    assert estimate_chains(compiled, records) == estimate_chains(compiled, records)


def test_bad_records_raise_an_error(make_skill, make_chain, make_order):
    compiled, records = chains(make_skill, make_chain, make_order)
    with pytest.raises(RecordsError, match="no chain has finished"):
        estimate_chains(compiled, [])
    with pytest.raises(RecordsError, match="not the units of this skill"):
        estimate_chains(make_skill(("a", "x")), records)
    for bad in (math.nan, 1.5, -0.1):
        with pytest.raises(RecordsError, match="between 0 and 1"):
            estimate_chains(compiled, [replace(records[0], full=(bad, *records[0].full[1:]))])
    with pytest.raises(RecordsError, match="scores for a window"):
        estimate_chains(compiled, [replace(records[0], empty=(0.0,))])
    padded = chains(make_skill, make_chain, make_order, operators=BOTH)[1]
    with pytest.raises(RecordsError, match="operators differ"):
        estimate_chains(compiled, [records[0], padded[1]])
    pad_only = chains(make_skill, make_chain, make_order, operators=(Operator.PAD,))[1]
    with pytest.raises(RecordsError, match="not run under deletion"):
        estimate_chains(compiled, pad_only)


def test_bad_options_raise_an_error():
    for bad in ({"level": 1.0}, {"replicates": 0}, {"resolution": 0.0}):
        with pytest.raises(SettingsError):
            EstimateOptions(**bad)


def test_a_skill_with_no_execution_units_has_anchors_only(make_skill, make_chain):
    compiled = make_skill(())
    records = [make_chain(k, ("m",), TASKS, lambda *_: 1.0) for k in range(2)]
    estimate = estimate_chains(compiled, records)
    assert estimate.units == ()
    assert estimate.truncation_share is None
    assert estimate.closure.ratio is None
    assert any("no execution units" in note for note in estimate.notes)


def test_intervals_narrow_with_more_chains(make_skill, make_chain, make_order):
    compiled, records = chains(make_skill, make_chain, make_order, count=48)
    widths = [estimate_chains(compiled, records[:count]).unit("e").net.high for count in (6, 12, 24, 48)]
    assert all(after < before for before, after in pairwise(widths))


@pytest.mark.heavy
def test_all_orders_of_a_flat_skill_give_exact_shapley_values(make_skill, make_chain):
    shapiq = pytest.importorskip("shapiq")
    rng = np.random.default_rng(4)
    table = {
        frozenset(unit for place, unit in enumerate(FEW_UNITS) if bits >> place & 1): rng.random(len(FEW_TASKS))
        for bits in range(2 ** len(FEW_UNITS))
    }

    def game(coalition, task, operator):
        return float(table[coalition - {"m"}][FEW_TASKS.index(task)])

    def panel_value(coalitions):
        kept = (frozenset(unit for unit, there in zip(FEW_UNITS, row, strict=True) if there) for row in coalitions)
        return np.array([table[coalition].mean() for coalition in kept])

    records = [make_chain(k, ("m", *order), FEW_TASKS, game) for k, order in enumerate(permutations(FEW_UNITS))]
    estimate = estimate_chains(make_skill(FEW_UNITS), records)
    exact = shapiq.ExactComputer(n_players=len(FEW_UNITS), game=panel_value)("SV", order=1)
    assert [unit.net.value for unit in estimate.units] == pytest.approx(
        [exact[(place,)] for place in range(len(FEW_UNITS))], abs=1e-12
    )


@pytest.fixture
def small_estimate(make_skill, make_chain, make_order):
    compiled, rng = make_skill(("a", "<b>")), np.random.default_rng(0)
    return estimate_chains(
        compiled,
        [
            make_chain(k, make_order(compiled, rng), FEW_TASKS[:2], lambda kept, *_: float("a" in kept))
            for k in range(3)
        ],
    )


def test_an_estimate_as_a_dictionary_is_valid_json(small_estimate):
    plain = small_estimate.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["units"][0]["net"]["value"] == 1.0
    assert plain["units"][0]["evidence"] == "positive"


def test_an_estimate_as_a_data_frame_has_a_row_per_unit(small_estimate):
    pytest.importorskip("pandas")
    frame = small_estimate.to_frame()
    assert list(frame["unit"]) == ["a", "<b>"]
    assert list(frame["net"]) == [1.0, 0.0]
    assert frame["content"].isna().all()


def test_an_estimate_as_html_escapes_unit_names(small_estimate):
    page = small_estimate._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<td>+100.0</td>" in page
    assert "in points of a hundred" in page
