"""LiveMathematicianBench: multiple-choice questions about recent theorems, answered in one turn."""

from skillsv_bench.benchmark import Benchmark
from skillsv_bench.livemath.agents import always_a, around, noop, reference, rules
from skillsv_bench.livemath.tasks import COMES_FROM, PAPER, LabelVerifier, load

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
