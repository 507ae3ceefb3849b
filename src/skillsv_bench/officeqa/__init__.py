"""OfficeQA: questions about figures in official bulletins, answered with three tools within 24 turns."""

from skillsv_bench.benchmark import Benchmark
from skillsv_bench.officeqa.agents import around, noop, reference
from skillsv_bench.officeqa.rules import rules
from skillsv_bench.officeqa.tasks import COMES_FROM, PAPER, load
from skillsv_bench.officeqa.verify import AnswerVerifier

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
