"""OfficeQA: questions about figures in official bulletins, answered with three tools within 24 turns."""

from skillsv.benchmarks.benchmark import Benchmark
from skillsv.benchmarks.officeqa.agent import around
from skillsv.benchmarks.officeqa.known import noop, reference
from skillsv.benchmarks.officeqa.load import COMES_FROM, load
from skillsv.benchmarks.officeqa.paper import PAPER
from skillsv.benchmarks.officeqa.rules import rules
from skillsv.benchmarks.officeqa.verify import AnswerVerifier

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    name="officeqa",
    title="OfficeQA",
    comes_from=COMES_FROM,
    paper=PAPER,
    load=load,
    around=around,
    verifier=AnswerVerifier,
    known={"reference": reference, "noop": noop, "rules": rules},
)
