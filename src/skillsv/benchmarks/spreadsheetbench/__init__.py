"""SpreadsheetBench: real workbooks changed by programs that a model writes, compared cell by cell."""

from importlib.util import find_spec

from skillsv.errors import SettingsError

if find_spec("openpyxl") is None:
    raise SettingsError("Workbooks need the package openpyxl.", hint="Install it: pip install 'skillsv[spreadsheet]'.")

from skillsv.benchmarks.benchmark import Benchmark
from skillsv.benchmarks.spreadsheetbench.agent import around
from skillsv.benchmarks.spreadsheetbench.known import noop, reference
from skillsv.benchmarks.spreadsheetbench.load import COMES_FROM, load
from skillsv.benchmarks.spreadsheetbench.paper import PAPER
from skillsv.benchmarks.spreadsheetbench.rules import rules
from skillsv.benchmarks.spreadsheetbench.verify import CellVerifier

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
