"""`skillsv bench compare`: the results of several benchmarks, pooled."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json
from skillsv.errors import SettingsError


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
    SkillSV and the baselines, with intervals, and the paper's tables with one row per benchmark. Costs nothing.
    """
    from skillsv.cli.confirm import share_of
    from skillsv.cli.printing import deliver, json_text
    from skillsv.confirm import pooled_comparisons
    from skillsv_bench.cli.published import write_all
    from skillsv_bench.results import read_results
    from skillsv_bench.tables import differences, pooled_figure, tables

    if not runs:
        raise SettingsError("nothing to compare.", hint="Name the folders of benchmark runs.")
    several = [read_results(run) for run in runs]
    found = pooled_comparisons([each["held_out"]["areas"] for each in several], level=share_of(level))
    made = (*tables(several), differences(found, len(several)))
    pooled = {
        "schema": "skillsv.bench.pooled/1",
        "benchmarks": [each["benchmark"] for each in several],
        "level": share_of(level),
        "differences": [asdict(each) for each in found],
        "tables": {table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in made},
    }
    if output is not None:
        write_all(output, "pooled.json", pooled, made, [pooled_figure(found, len(several))])
        print(f"Results: {output}", file=sys.stderr)
    deliver(json_text(pooled) if json else "\n".join(table.markdown() for table in made), None)
    return 0
