"""`skillsv bench compare`: the results of several benchmarks, pooled."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.errors import SettingsError
from skillsv.extend.commands import Json


def compare(
    *runs: Annotated[Path, Parameter(help="Folders of benchmark runs, or of their results.")],
    level: Annotated[float, Parameter(help="Confidence level, in percent or as a share.")] = 95,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Folder for the pooled tables and figures.")
    ] = None,
    json: Json = False,
) -> int:
    """skillsv bench compare .skillsv/livemath-my-skill .skillsv/alfworld-my-other-skill

    Pool several benchmarks, each with equal weight: the differences between the areas under the pruning curves of
    SkillSV and the baselines, with intervals, the agreement of all rankings with Holm's correction over all pairs, and
    the paper's tables with one row per benchmark. Costs nothing.
    """
    from skillsv.extend.commands import deliver, json_text
    from skillsv.extend.comparison import pooled_comparisons
    from skillsv.extend.settings import level_as_share
    from skillsv_bench.agreement import pool_agreements
    from skillsv_bench.cli.published import write_all
    from skillsv_bench.results import read_results
    from skillsv_bench.tables import make_pooled_figures, make_tables, pooled_table

    if not runs:
        raise SettingsError("nothing to compare.", hint="Name the folders of benchmark runs.")
    all_results = [read_results(run) for run in runs]
    comparisons = pooled_comparisons(
        [result["held_out"]["areas"] for result in all_results], level=level_as_share(level)
    )
    tables = (*make_tables(all_results), pooled_table(comparisons, len(all_results)))
    pooled = {
        "schema": "skillsv.bench.pooled/1",
        "benchmarks": [result["benchmark"] for result in all_results],
        "level": level_as_share(level),
        "differences": [asdict(comparison) for comparison in comparisons],
        "agreements": [asdict(pair) for pair in pool_agreements(all_results)],
        "tables": {table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in tables},
    }
    if output is not None:
        write_all(output, "pooled.json", pooled, tables, make_pooled_figures(comparisons, all_results))
        print(f"Results: {output}", file=sys.stderr)
    deliver(json_text(pooled) if json else "\n".join(table.markdown() for table in tables), None)
    return 0
