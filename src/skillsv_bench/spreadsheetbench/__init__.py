"""SpreadsheetBench: real workbooks changed by programs that a model writes, compared cell by cell."""

from importlib.util import find_spec

from skillsv.errors import SettingsError

if find_spec("openpyxl") is None:
    raise SettingsError("Workbooks need the package openpyxl.", hint="Install it: pip install 'skillsv[spreadsheet]'.")

from skillsv_bench.benchmark import Benchmark
from skillsv_bench.spreadsheetbench.agents import noop, reference, wrap_agent
from skillsv_bench.spreadsheetbench.rules import rules
from skillsv_bench.spreadsheetbench.tasks import DATA_ORIGIN, MANIFESTS, PAPER, load
from skillsv_bench.spreadsheetbench.verify import SOFT_CELL_PASS, CellVerifier

BENCHMARK = Benchmark(
    name="spreadsheetbench",
    title="SpreadsheetBench",
    data_origin=DATA_ORIGIN,
    paper=PAPER,
    load=load,
    wrap_agent=wrap_agent,
    verifier=CellVerifier,
    builtin_agents={"reference": reference, "noop": noop, "rules": rules},
    manifests=MANIFESTS,
    second_metric=SOFT_CELL_PASS,
)

__all__ = ["BENCHMARK"]
