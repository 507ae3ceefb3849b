"""ALFWorld: household tasks in a real text environment, up to 50 actions an episode."""

from skillsv_bench.alfworld.agents import noop, random_agent, reference, wrap_agent
from skillsv_bench.alfworld.rules import rules
from skillsv_bench.alfworld.tasks import DATA_ORIGIN, MANIFESTS, PAPER, WonVerifier, load
from skillsv_bench.benchmark import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    name="alfworld",
    title="ALFWorld",
    data_origin=DATA_ORIGIN,
    paper=PAPER,
    load=load,
    wrap_agent=wrap_agent,
    verifier=WonVerifier,
    builtin_agents={"reference": reference, "noop": noop, "rules": rules, "random": random_agent},
    manifests=MANIFESTS,
)
