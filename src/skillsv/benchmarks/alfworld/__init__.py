"""ALFWorld: household tasks in a real text environment, up to 50 actions an episode."""

from skillsv.benchmarks.alfworld.agent import around
from skillsv.benchmarks.alfworld.known import at_random, noop, reference
from skillsv.benchmarks.alfworld.load import load
from skillsv.benchmarks.alfworld.paper import COMES_FROM, PAPER
from skillsv.benchmarks.alfworld.rules import rules
from skillsv.benchmarks.alfworld.verify import WonVerifier
from skillsv.benchmarks.benchmark import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    name="alfworld",
    title="ALFWorld",
    comes_from=COMES_FROM,
    paper=PAPER,
    load=load,
    around=around,
    verifier=WonVerifier,
    known={"reference": reference, "noop": noop, "rules": rules, "random": at_random},
)
