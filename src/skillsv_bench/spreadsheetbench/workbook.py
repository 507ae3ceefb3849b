"""The cells of an .xlsx file that are asked for, and nothing else.

openpyxl decides what a cell holds, as it does when it loads a whole workbook. But then it reads all styles and strings
first, which takes half a minute for some of the public workbooks. Here a sheet is streamed, then the strings that its
cells point to; of the styles only those that show dates matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from string import digits
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, SubElement

from openpyxl.formula.tokenizer import TokenizerError
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format
from openpyxl.utils import column_index_from_string, range_boundaries
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel
from openpyxl.worksheet._reader import WorkSheetParser
from openpyxl.xml.constants import ARC_STYLE, REL_NS, SHARED_STRINGS, SHEET_MAIN_NS, XLSM, XLSX, XLTM, XLTX

from skillsv_bench.spreadsheetbench.package import Package, WorkbookError, convert_read_errors
from skillsv_bench.spreadsheetbench.positions import Area

Cells = dict[tuple[int, int], Any]
"""What stands where, by row and column; empty cells are left out."""

_WORKBOOKS = {XLSX, XLSM, XLTX, XLTM}
_CHART = "chartsheet"


def _tag(name: str) -> str:
    return f"{{{SHEET_MAIN_NS}}}{name}"


_CELL, _ROW, _MERGED, _DIMENSION = _tag("c"), _tag("row"), _tag("mergeCell"), _tag("dimension")
_FORMULA = _tag("f")
_VALUE, _INLINE, _STRING, _RUN, _TEXT = _tag("v"), _tag("is"), _tag("si"), _tag("r"), _tag("t")
_FORMAT, _STYLE, _STYLES = _tag("numFmt"), _tag("xf"), _tag("cellXfs")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """A cell's text that stands in the table of strings."""

    index: int


class _SharedStrings:
    """Stands for the table of strings until it is known which of them are wanted."""

    def __getitem__(self, index: int) -> Any:
        return _Shared(index=index)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetPreview:
    """The first rows of a sheet, and the range that the file says is in use (None: it does not say)."""

    cells: Cells
    used: str | None


class Workbook:
    """A workbook in an open file. Raises WorkbookError where it cannot be read."""

    def __init__(self, file: BinaryIO) -> None:
        with convert_read_errors():
            self._package = Package(file)
            self._types = {
                part.get("ContentType"): part.get("PartName", "").removeprefix("/")
                for part in self._package.read_part("[Content_Types].xml")
            }
            main = next((part for kind, part in self._types.items() if kind in _WORKBOOKS and part), "xl/workbook.xml")
            tree = self._package.read_part(main)
            settings = tree.find(_tag("workbookPr"))
            self._epoch = MAC_EPOCH if settings is not None and _is_true(settings.get("date1904")) else WINDOWS_EPOCH
            related = self._package.read_relations(main)
            sheets = [(sheet.get("name", ""), sheet.get(f"{{{REL_NS}}}id", "")) for sheet in tree.iter(_tag("sheet"))]
            self._sheets = {name: related[link] for name, link in sheets if link and related[link][1] in self._package}

    @property
    def sheets(self) -> tuple[str, ...]:
        """The names of its sheets, in order."""
        return tuple(self._sheets)

    def is_chart(self, sheet: str) -> bool:
        """Whether a sheet is nothing but a chart."""
        return _CHART in self._sheets[sheet][0]

    def values(self, area: Area, *, computed: bool = True) -> Cells:
        """The values in an area as last computed: a formula that never was is empty, as is what a merge hides.

        `computed` False leaves out all formulas, which is what remains when openpyxl saves the workbook again.
        """
        with convert_read_errors():
            cells: Cells = {}
            parser = self._parser(formulas=not computed)
            for ends, element in self._package.iterate_elements(self._path(area.sheet), {_CELL}):
                if element.tag == _ROW and not ends:
                    _begin_row(parser, element.get("r"))
                elif element.tag == _CELL and ends:
                    self._read_cell(parser, element, cells, area)
                elif element.tag == _MERGED and not ends:
                    self._hide(cells, element.get("ref", ""))
            return self._with_strings(cells)

    def top(self, sheet: str, rows: int, columns: int) -> SheetPreview:
        """The first rows and columns of a sheet; formulas as they are written."""
        with convert_read_errors():
            area = Area(sheet=sheet, first_row=1, last_row=rows, first_column=1, last_column=columns)
            cells: Cells = {}
            used: str | None = None
            parser = self._parser(formulas=True)
            for ends, element in self._package.iterate_elements(self._path(sheet), {_CELL}):
                if element.tag == _DIMENSION and not ends:
                    used = element.get("ref")
                elif element.tag == _ROW and not ends:
                    _begin_row(parser, element.get("r"))
                    if parser.row_counter > rows:
                        break
                elif element.tag == _CELL and ends:
                    self._put(cells, _with_formula(parser, _plain(element)), area)
            return SheetPreview(cells=self._with_strings(cells), used=used)

    def _path(self, sheet: str) -> str:
        if sheet not in self._sheets or self.is_chart(sheet):
            raise WorkbookError(f"it has no sheet of cells '{sheet}'")
        return self._sheets[sheet][1]

    def _parser(self, *, formulas: bool) -> WorkSheetParser:
        """What reads a cell. It is told of no date formats: for a date out of range it would warn on the console."""
        return WorkSheetParser(BytesIO(), _SharedStrings(), data_only=not formulas)

    def _read_cell(self, parser: WorkSheetParser, element: Element, cells: Cells, area: Area) -> None:
        """Read a cell if it is in the area; a row may have thousands of others."""
        place = element.get("r")
        column = column_index_from_string(place.rstrip(digits)) if place else parser.col_counter + 1
        if (parser.row_counter, column) not in area:
            parser.col_counter = column
        elif parser.data_only or element.find(_FORMULA) is None:
            self._put(cells, parser.parse_cell(_plain(element)), area)

    def _put(self, cells: Cells, cell: dict[str, Any], area: Area) -> None:
        """Take note of a cell that belongs to the area; what stands where a later one is written is lost."""
        place = (cell["row"], cell["column"])
        if place not in area:
            return
        value, style = cell["value"], cell["style_id"]
        if cell["data_type"] == "n" and value is not None and style in self._dates:
            value = self._date(value, style)
        if value is None:
            cells.pop(place, None)
        else:
            cells[place] = value

    def _date(self, value: float, style: int) -> Any:
        try:
            return from_excel(value, self._epoch, timedelta=self._dates[style])
        except (OverflowError, ValueError):
            return "#VALUE!"

    @cached_property
    def _dates(self) -> dict[int, bool]:
        """The cell styles that show a number as a date, and whether they show it as a length of time."""
        if ARC_STYLE not in self._package:
            return {}
        formats: dict[int, str] = {}
        found: dict[int, bool] = {}
        count = 0
        inside = False
        for ends, element in self._package.iterate_elements(ARC_STYLE, frozenset()):
            if element.tag == _STYLES:
                if ends:
                    break
                inside = True
            elif element.tag == _FORMAT and not ends:
                formats[int(element.get("numFmtId", ""))] = element.get("formatCode", "")
            elif element.tag == _STYLE and inside and not ends:
                number = int(element.get("numFmtId", "0"))
                shown = formats.get(number, BUILTIN_FORMATS.get(number))
                if is_date_format(shown):
                    found[count] = is_timedelta_format(shown)
                count += 1
        return found

    def _hide(self, cells: Cells, merged: str) -> None:
        """Only the first cell of a merged range is to be seen."""
        left, top, right, bottom = range_boundaries(merged)
        hidden = Area(
            sheet="", first_row=top or 1, last_row=bottom or 1, first_column=left or 1, last_column=right or 1
        )
        self._package.count_steps(min(hidden.size, len(cells)))
        places = hidden if hidden.size < len(cells) else cells
        for place in [place for place in places if place in hidden and place != (top, left)]:
            cells.pop(place, None)

    def _with_strings(self, cells: Cells) -> Cells:
        """The cells with the texts that they point to."""
        wanted = {value.index for value in cells.values() if isinstance(value, _Shared)}
        if not wanted:
            return cells
        texts = dict(self._strings(wanted))
        return {place: texts[value.index] if isinstance(value, _Shared) else value for place, value in cells.items()}

    def _strings(self, wanted: set[int]) -> Iterator[tuple[int, str]]:
        last = max(wanted)
        index = 0
        for ends, element in self._package.iterate_elements(self._types[SHARED_STRINGS], {_STRING}):
            if element.tag == _STRING and ends:
                if index in wanted:
                    yield index, _text(element).replace("x005F_", "")
                if index == last:
                    return
                index += 1


def _begin_row(parser: WorkSheetParser, number: str | None) -> None:
    parser.row_counter = parser.row_counter + 1 if number is None else int(float(number))
    parser.col_counter = 0


def _with_formula(parser: WorkSheetParser, element: Element) -> dict[str, Any]:
    """A cell with its formula; one that is shared with other cells and cannot be read stands as it is written."""
    try:
        return parser.parse_cell(element)
    except TokenizerError:
        for formula in element.iterfind(_FORMULA):
            formula.attrib.pop("t", None)
        return parser.parse_cell(element)


def _text(element: Element) -> str:
    """The text of a string, plain or in runs of different looks; how it is pronounced does not belong to it."""
    runs = [element.findtext(_TEXT), *(run.findtext(_TEXT) for run in element.iterfind(_RUN))]
    return "".join(run for run in runs if run)


def _plain(cell: Element) -> Element:
    """A cell with its own text where others have theirs: openpyxl reads that many times as fast."""
    inline = cell.find(_INLINE) if cell.get("t") == "inlineStr" else None
    if inline is not None:
        cell.set("t", "str")
        SubElement(cell, _VALUE).text = _text(inline)
    return cell


def _is_true(flag: str | None) -> bool:
    return flag in {"1", "true", "on", "t"}
