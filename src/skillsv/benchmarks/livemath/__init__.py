"""LiveMathematicianBench: multiple-choice questions about recent theorems, answered in one turn."""

from skillsv.benchmarks.benchmark import Benchmark
from skillsv.benchmarks.livemath.agent import around
from skillsv.benchmarks.livemath.known import always_a, noop, reference
from skillsv.benchmarks.livemath.load import COMES_FROM, load
from skillsv.benchmarks.livemath.paper import PAPER
from skillsv.benchmarks.livemath.rules import rules
from skillsv.benchmarks.livemath.verify import LabelVerifier

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    name="livemath",
    title="LiveMath",
    comes_from=COMES_FROM,
    paper=PAPER,
    load=load,
    around=around,
    verifier=LabelVerifier,
    known={"reference": reference, "noop": noop, "rules": rules, "always-a": always_a},
)
