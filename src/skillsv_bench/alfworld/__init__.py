"""ALFWorld: household tasks in a real text environment, up to 50 actions an episode."""

from skillsv_bench.alfworld.agents import around, at_random, noop, reference
from skillsv_bench.alfworld.rules import rules
from skillsv_bench.alfworld.tasks import COMES_FROM, PAPER, WonVerifier, load
from skillsv_bench.benchmark import Benchmark

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
