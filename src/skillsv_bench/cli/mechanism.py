"""`skillsv bench mechanism`: planted roles as every method recovers them, with both operators and a judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.extend.commands import Json, RunFlags

SCHEMA = "skillsv.bench.mechanism/1"
"""The name and version of the JSON document's format."""


def mechanism(
    *,
    judge: Annotated[str | None, Parameter(help="Agent that scores every unit: model:..., python:...")] = None,
    orders: Annotated[int, Parameter(name=["--orders", "-k"], help="Sampled insertion orders K.")] = 48,
    window: Annotated[int, Parameter(name=["--window", "-b"], help="Tasks shared by one order, b.")] = 8,
    seed: Annotated[int, Parameter(help="Seed of orders and windows.")] = 0,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Folder for the table and the figure.")
    ] = None,
    json: Json = False,
    run: RunFlags | None = None,
) -> int:
    """skillsv bench mechanism --judge model:openai:NAME --yes -o mechanism

    The paper's mechanism figure on a game with known values: a redundant pair, a pair that needs each other, a strong,
    a harmful and a dead unit, as SkillSV (deletion and padding), Closure-LOO, a judge and chance see them. Only the
    judge may cost something: one question for each unit.
    """
    import anyio

    from skillsv.extend.commands import agree, deliver, json_text
    from skillsv.extend.runs import Stop, default_folder, progress
    from skillsv_bench.cli.published import write_all
    from skillsv_bench.planted.mechanism import (
        Mechanism,
        MechanismOptions,
        make_crowded_game,
        mechanism_figure,
        mechanism_table,
        run_mechanism,
    )

    flags = run or RunFlags()
    if judge is not None:
        questions = len(make_crowded_game().compiled.execution)
        line = f"The judge {judge} is asked {questions} questions, unless the run folder has its answers."
        agree([line], yes=flags.yes)
    folder = flags.run_dir or default_folder("mechanism")
    options = MechanismOptions(folder=folder, orders=orders, window=window, seed=seed, judge=judge)

    async def session() -> Mechanism:
        with progress(sys.stderr, quiet=flags.quiet) as listener:
            return await run_mechanism(options, listener, Stop())

    found = anyio.run(session)
    table = mechanism_table(found)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    document = {"schema": SCHEMA, "orders": orders, "window": window, "seed": seed, "judge": judge, "units": rows}
    if output is not None:
        write_all(output, "mechanism.json", document, [table], [mechanism_figure(found)])
        print(f"Results: {output}", file=sys.stderr)
    deliver(json_text(document) if json else table.markdown(), None)
    return 0
