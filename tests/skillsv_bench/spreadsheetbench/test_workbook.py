"""Cells read one by one are those that openpyxl sees when it loads everything."""

from __future__ import annotations

import datetime as dt
import functools
import warnings
import zipfile
from io import BytesIO

import openpyxl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.utils.datetime import MAC_EPOCH

from skillsv_bench.spreadsheetbench.package import WorkbookError
from skillsv_bench.spreadsheetbench.positions import Area
from skillsv_bench.spreadsheetbench.prompt import preview
from skillsv_bench.spreadsheetbench.workbook import Workbook


def area(sheet="Sheet", first_row=1, last_row=60, first_column=1, last_column=30):
    return Area(sheet=sheet, first_row=first_row, last_row=last_row, first_column=first_column, last_column=last_column)


def saved(book) -> BytesIO:
    file = BytesIO()
    book.save(file)
    file.seek(0)
    return file


def by_openpyxl(file, wanted: Area) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of dates that no calendar has
        book = openpyxl.load_workbook(file, data_only=True)
    rows = book[wanted.sheet].iter_rows(
        min_row=wanted.first_row,
        max_row=wanted.last_row,
        min_col=wanted.first_column,
        max_col=wanted.last_column,
    )
    return {(cell.row, cell.column): cell.value for row in rows for cell in row if cell.value is not None}


NAIVE = dt.datetime.fromisoformat
values = st.one_of(
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Z", "S")), max_size=12),
    st.sampled_from(["#N/A", "#DIV/0!", "=A1+1", "_x000D_", "x005F_", " padded "]),
    st.datetimes(NAIVE("1900-03-01"), NAIVE("2200-01-01")),
    st.times(),
    st.timedeltas(dt.timedelta(0), dt.timedelta(days=400)),
)
places = st.tuples(st.integers(1, 30), st.integers(1, 12))
formats = st.sampled_from(["General", "0.00", "yyyy-mm-dd", "h:mm", "[h]:mm:ss", '"day" 0', "[Red]0", "mm:ss.0"])
boxes = st.tuples(st.integers(1, 20), st.integers(1, 8), st.integers(0, 4), st.integers(0, 4))


@pytest.mark.heavy
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    cells=st.dictionaries(places, st.tuples(values, st.none() | formats), max_size=25),
    merged=st.lists(boxes, max_size=2),
    mac=st.booleans(),
    box=boxes,
)
def test_the_same_cells_as_openpyxl_sees(cells, merged, mac, box):
    book = openpyxl.Workbook()
    book.epoch = MAC_EPOCH if mac else book.epoch
    sheet = book.active
    for (row, column), (value, looks) in cells.items():
        cell = sheet.cell(row, column)
        cell.value = value
        if looks is not None and not isinstance(value, dt.timedelta):
            cell.number_format = looks
    for row, column, down, right in merged:
        sheet.merge_cells(start_row=row, start_column=column, end_row=row + down, end_column=column + right)
    file = saved(book)
    row, column, down, right = box
    for wanted in (area(), area("Sheet", row, row + down, column, column + right)):
        assert Workbook(file).values(wanted) == by_openpyxl(file, wanted)


def test_cells_hidden_by_a_merge_are_empty():
    book = openpyxl.Workbook()
    for place in ("A1", "A2", "B1", "C3"):
        book.active[place] = place
    file = rewritten(
        saved(book),
        lambda text: text.replace(b"</sheetData>", b'</sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells>'),
    )
    assert Workbook(file).values(area()) == by_openpyxl(file, area()) == {(1, 1): "A1", (3, 3): "C3"}


def rewritten(file, change, part="xl/worksheets/sheet1.xml") -> BytesIO:
    made = BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return made


def test_rows_and_cells_without_a_position_follow_each_other():
    book = openpyxl.Workbook()
    for place in ("A1", "B1", "B4", "C4", "A5"):
        book.active[place] = place
    silent = (b' r="A1"', b' r="B1"', b' r="C4"', b' r="A5"', b' r="1"', b' r="5"')
    file = rewritten(
        saved(book), lambda text: functools.reduce(lambda left, part: left.replace(part, b""), silent, text)
    )
    expected = {(1, 1): "A1", (1, 2): "B1", (4, 2): "B4", (4, 3): "C4", (5, 1): "A5"}
    assert Workbook(file).values(area()) == by_openpyxl(file, area()) == expected
    assert Workbook(file).values(area(first_column=3)) == {(4, 3): "C4"}


def test_wrong_dimensions_do_not_matter():
    book = openpyxl.Workbook()
    book.active["C9"] = "far"
    file = rewritten(
        saved(book), lambda text: text.replace(b'ref="C9:C9"', b'ref="A1"').replace(b'ref="A1:C9"', b'ref="A1"')
    )
    assert Workbook(file).values(area()) == {(9, 3): "far"}


def test_texts_in_runs_are_one_text():
    book = openpyxl.Workbook()
    book.active["A1"] = CellRichText("plain ", TextBlock(InlineFont(b=True), "bold"), " end")
    file = saved(book)
    assert Workbook(file).values(area()) == by_openpyxl(file, area()) == {(1, 1): "plain bold end"}


def test_formulas_are_left_out_where_only_what_is_written_counts():
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A2"] = 4, "=A1"
    file = rewritten(
        saved(book),
        lambda text: text.replace(b"<v></v>", b"<v>4</v>").replace(b"<v/>", b"<v>4</v>").replace(b"<v />", b"<v>4</v>"),
    )
    assert Workbook(file).values(area()) == {(1, 1): 4, (2, 1): 4}
    assert Workbook(file).values(area(), computed=False) == {(1, 1): 4}


def test_dates_that_no_calendar_has_are_errors():
    book = openpyxl.Workbook()
    book.active["A1"] = 10**9
    book.active["A1"].number_format = "yyyy-mm-dd"
    assert Workbook(saved(book)).values(area()) == {(1, 1): "#VALUE!"}


def test_sheets_keep_their_order_and_names():
    book = openpyxl.Workbook()
    for name in ("工作表1", "Bob's stock", "a & b", "end "):
        book.create_sheet(name)
    chart = book.create_chartsheet("Chart")
    file = saved(book)
    workbook = Workbook(file)
    assert workbook.sheets == ("Sheet", "工作表1", "Bob's stock", "a & b", "end ", "Chart")
    assert chart.title == "Chart"
    for name in ("Chart", "Gone"):
        with pytest.raises(WorkbookError, match=f"no sheet of cells '{name}'"):
            workbook.values(area(name))


def test_the_preview_shows_the_top_left_of_each_sheet():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"], sheet["C1"], sheet["B2"] = "name", "=SUM(B2:B9)", "x" * 41
    sheet["A3"] = "y" * 40
    sheet["A5"], sheet["B5"] = "two\nlines", dt.date(2031, 5, 17)
    sheet["A6"], sheet["U1"] = "below", "beside"
    book.create_sheet("工作表1")["A9"] = "deep"
    assert preview(Workbook(saved(book))) == (
        "## Sheet: Sheet (used range A1:U6)\n"
        "A1=name | B1= | C1==SUM(B2:B9)\n"
        f"A2= | B2={'x' * 37}... | C2=\n"
        f"A3={'y' * 40} | B3= | C3=\n"
        "A4= | B4= | C4=\n"
        "A5=two lines | B5=2031-05-17 00:00:00 | C5=\n"
        "\n"
        "## Sheet: 工作表1 (used range A9:A9)\n"
        "(its first rows are empty)"
    )


def test_the_preview_shows_chart_names_and_readable_formulas():
    book = openpyxl.Workbook()
    for row in (1, 2):
        book.active.cell(row, 1).value = f"=B{row}"
    book.create_chartsheet("Chart")
    shared = b'<f t="shared" ref="A1:A2" si="0">B1*2</f>', b'<f t="shared" si="0"></f>'
    good = rewritten(saved(book), lambda text: text.replace(b"<f>B1</f>", shared[0]).replace(b"<f>B2</f>", shared[1]))
    bad = rewritten(good, lambda text: text.replace(b"B1*2", b"&quot;open"))
    assert preview(Workbook(good)).endswith("\nA1==B1*2\nA2==B2*2\n\n## Sheet: Chart (a chart)")
    assert '\nA1=="open\nA2==\n' in preview(Workbook(bad))


def test_the_preview_reads_no_more_rows_than_it_shows():
    book = openpyxl.Workbook()
    for row in range(1, 2_000):
        book.active.cell(row, 1).value = row
    workbook = Workbook(saved(book))
    assert "A5=5" in preview(workbook)
    assert workbook._package._steps < 100
