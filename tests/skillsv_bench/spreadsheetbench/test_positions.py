"""Upstream's words for where an answer belongs, with all their quotes and slips."""

from __future__ import annotations

import pytest

from skillsv_bench.spreadsheetbench.positions import Area, UnscoreableTask, read_position

SHEETS = ("First", "Other", "Bob's stock", "工作表1", "end ", "b2b, sez, de")


def area(sheet, first_row, last_row, first_column, last_column):
    return Area(sheet=sheet, first_row=first_row, last_row=last_row, first_column=first_column, last_column=last_column)


@pytest.mark.parametrize(
    ("position", "answer_sheet", "expected"),
    [
        ("B2", "", [area("First", 2, 2, 2, 2)]),
        ("B2:C9", "", [area("First", 2, 9, 2, 3)]),
        ("B2:C9", "Other", [area("Other", 2, 9, 2, 3)]),
        ("B2:C9", "'Other'", [area("Other", 2, 9, 2, 3)]),
        ("Other!B2:C9", "First", [area("Other", 2, 9, 2, 3)]),
        ("'Other'!B2:C9", "", [area("Other", 2, 9, 2, 3)]),
        ("Other'!B2", "", [area("Other", 2, 2, 2, 2)]),
        ("'Other!'B2:C9", "", [area("Other", 2, 9, 2, 3)]),
        ("'Other!'B2:C9'", "", [area("Other", 2, 9, 2, 3)]),
        ("'Bob's stock'!A1", "", [area("Bob's stock", 1, 1, 1, 1)]),
        ("'工作表1'!I2:J7", "", [area("工作表1", 2, 7, 9, 10)]),
        ("'end '!A1", "", [area("end ", 1, 1, 1, 1)]),
        ("D1,D5,D9", "", [area("First", row, row, 4, 4) for row in (1, 5, 9)]),
        ("'First!'A1:D2, 'Other'!A1:J3", "", [area("First", 1, 2, 1, 4), area("Other", 1, 3, 1, 10)]),
        ("A1: A89", "", [area("First", 1, 89, 1, 1)]),
        ("$A$1:$AB$2", "", [area("First", 1, 2, 1, 28)]),
        ("a1:b2", "", [area("First", 1, 2, 1, 2)]),
        ("A1:XFD1048576", "", [area("First", 1, 1_048_576, 1, 16_384)]),
    ],
)
def test_what_can_be_read(position, answer_sheet, expected):
    assert list(read_position(position, answer_sheet, SHEETS)) == expected


@pytest.mark.parametrize(
    ("position", "answer_sheet", "why"),
    [
        ("'b2b, sez, de'!A5:V10", "b2b, sez, de", "the name of the sheet 'b2b, sez, de' has a comma"),
        ("G12：J15", "", r"'G12：J15' is not a range of cells \(its colon is full-width\)"),
        ("Other'!A:G,'First'!A:G", "'Other','First'", "'Other'!A:G' is not a range of cells$"),
        ("A3:E11", "First,Other,Retired", "on a sheet 'First,Other,Retired', which the gold workbook does not have"),
        ("'Gone'!A1", "", "on a sheet 'Gone'"),
        ("'other'!A1", "", "on a sheet 'other'"),
        ("A1:B", "", "'A1:B' is not"),
        ("B9:A1", "", "'B9:A1' is not"),
        ("A0", "", "'A0' is not"),
        ("A1048577", "", "'A1048577' is not"),
        ("ZZZ1", "", "'ZZZ1' is not"),
        ("A1:B2:C3", "", "'A1:B2:C3' is not"),
        ("A1,", "", "'' is not"),
        ("the second column", "", "'the second column' is not"),
    ],
)
def test_what_cannot_be_scored_says_why(position, answer_sheet, why):
    with pytest.raises(UnscoreableTask, match=why):
        read_position(position, answer_sheet, SHEETS)


def test_an_area_knows_its_cells():
    found = area("First", 2, 3, 4, 5)
    assert list(found) == [(2, 4), (2, 5), (3, 4), (3, 5)]
    assert found.size == 4
    assert (3, 5) in found
    assert (4, 5) not in found
    assert (3, 6) not in found
