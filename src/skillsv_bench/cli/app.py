"""`skillsv bench`: benchmarks with known or published answers, one function each."""

from __future__ import annotations

import cyclopts

from skillsv_bench.cli.published import published

bench_app = cyclopts.App(
    name="bench",
    help="skillsv bench livemath --data DIR --skill my-skill --agent model:openai:NAME\n\n"
    "Run the paper's protocol on a published benchmark, or a study on games with known answers.",
    help_format="plaintext",
    result_action="return_value",
)

bench_app.default(published)

for _name, _place, _summary in (
    ("planted", "planted:planted", "Value skills whose true values are known."),
    ("mechanism", "mechanism:mechanism", "Draw planted roles as every method recovers them."),
    ("estimators", "estimators:estimators", "Compare estimators at equal rollouts on games with known values."),
    ("shrink", "shrink:shrink", "Shrink skills whose useless units are known, and count what is proven."),
    ("optimizers", "optimizers:optimizers", "Measure what pruning changes in the texts that optimizers write."),
    ("paper", "paper:paper", "Write every table and figure of the paper that data and agents allow."),
    ("compare", "compare:compare", "Pool the results of several benchmarks, as the paper does."),
):
    bench_app.command(f"skillsv_bench.cli.{_place}", name=_name, help=_summary)
