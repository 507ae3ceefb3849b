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
