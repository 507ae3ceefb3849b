"""LiveMathematicianBench: multiple-choice questions about recent theorems, answered in one turn."""

from skillsv_bench.benchmark import Benchmark
from skillsv_bench.livemath.agents import always_a, noop, reference, rules, wrap_agent
from skillsv_bench.livemath.tasks import DATA_ORIGIN, MANIFESTS, PAPER, LabelVerifier, load

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    name="livemath",
    title="LiveMath",
    data_origin=DATA_ORIGIN,
    paper=PAPER,
    load=load,
    wrap_agent=wrap_agent,
    verifier=LabelVerifier,
    builtin_agents={"reference": reference, "noop": noop, "rules": rules, "always-a": always_a},
    manifests=MANIFESTS,
)
