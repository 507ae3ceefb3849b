"""SpreadsheetBench: real workbooks changed by programs that a model writes, compared cell by cell."""

from importlib.util import find_spec

from skillsv.errors import SettingsError

if find_spec("openpyxl") is None:
    raise SettingsError("Workbooks need the package openpyxl.", hint="Install it: pip install 'skillsv[spreadsheet]'.")

from skillsv_bench.benchmark import Benchmark
from skillsv_bench.spreadsheetbench.agents import around, noop, reference
from skillsv_bench.spreadsheetbench.rules import rules
from skillsv_bench.spreadsheetbench.tasks import COMES_FROM, PAPER, load
from skillsv_bench.spreadsheetbench.verify import CellVerifier

BENCHMARK = Benchmark(
    name="spreadsheetbench",
    title="SpreadsheetBench",
    comes_from=COMES_FROM,
    paper=PAPER,
    load=load,
    around=around,
    verifier=CellVerifier,
    known={"reference": reference, "noop": noop, "rules": rules},
)

__all__ = ["BENCHMARK"]
