"""OfficeQA: questions about figures in official bulletins, answered with three tools within 24 turns."""

from skillsv_bench.benchmark import Benchmark
from skillsv_bench.officeqa.agents import noop, reference, wrap_agent
from skillsv_bench.officeqa.rules import rules
from skillsv_bench.officeqa.tasks import DATA_ORIGIN, MANIFESTS, PAPER, load
from skillsv_bench.officeqa.verify import TOKEN_F1, AnswerVerifier

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    name="officeqa",
    title="OfficeQA",
    data_origin=DATA_ORIGIN,
    paper=PAPER,
    load=load,
    wrap_agent=wrap_agent,
    verifier=AnswerVerifier,
    builtin_agents={"reference": reference, "noop": noop, "rules": rules},
    manifests=MANIFESTS,
    second_metric=TOKEN_F1,
)
