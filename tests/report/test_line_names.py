import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillsv.report.line_names import LineNames, distinct_labels
from skillsv.report.sentences import execution_units


def names_of(case):
    return execution_units(case.valuation), LineNames(execution_units(case.valuation))


def test_a_unit_is_named_by_its_line_and_first_words(case):
    units, names = names_of(case)
    first = units[0]
    assert names.line(first.id) == f"line {first.lines.first}"
    assert names.words(first.id).startswith(f"line {first.lines.first}: ")
    resource = next(unit for unit in units if unit.file == "scripts/refund.py")
    assert names.words(resource.id) == "scripts/refund.py"


def test_neighbouring_lines_are_a_range(case):
    units, names = names_of(case)
    three = units[:3]
    assert names.lines(unit.id for unit in three) == f"lines {three[0].lines.first} to {three[2].lines.last}"
    apart = f"lines {units[0].lines.first} and {units[2].lines.first}"
    assert names.lines([units[2].id, units[0].id]) == apart
    assert names.lines([]) == ""


def test_ids_in_a_reason_become_lines(case):
    units, names = names_of(case)
    reason = f"About zero, but {units[0].id}, {units[1].id} need it."
    assert names.explain(reason) == f"About zero, but lines {units[0].lines.first}, {units[1].lines.first} need it."


def test_labels_with_one_beginning_stay_distinct():
    labels = {"a": "A ticket that mentions invoice goes to billing", "b": "A ticket that mentions fax goes to archive",
              "c": "Another line"}  # fmt: skip
    cut = distinct_labels(labels, 20)
    assert all(len(label) <= 20 for label in cut.values())
    assert len(set(cut.values())) == 3
    assert "invoice" in cut["a"]
    assert cut["c"] == "Another line"


def joined(words):
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def named_one_by_one(units, chosen):
    """The lines of chosen units, looked at in the order of the document."""
    ranges, others, before = [], [], None
    for place, unit in enumerate(units):
        if unit.id not in chosen:
            continue
        if unit.file != "SKILL.md":
            others.append(unit.file)
        elif before is not None and before == place - 1:
            ranges[-1] = (ranges[-1][0], unit.lines.last)
            before = place
        else:
            ranges.append((unit.lines.first, unit.lines.last))
            before = place
    if len(ranges) > 1 and all(first == last for first, last in ranges):
        return joined([f"lines {joined([str(first) for first, _ in ranges])}", *others])
    words = [f"line {first}" if first == last else f"lines {first} to {last}" for first, last in ranges]
    return joined([*words, *others])


@pytest.mark.heavy
@given(data=st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_of_any_units_are_those_found_one_by_one(case, data):
    units, names = names_of(case)
    chosen = data.draw(st.frozensets(st.sampled_from([*(unit.id for unit in units), "unknown"])))
    assert names.lines(chosen) == named_one_by_one(units, chosen)
