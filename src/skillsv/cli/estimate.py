"""`skillsv estimate`: estimates again from the records of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json, given_share, setting_parameter


def estimate(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    level: Annotated[float | None, Parameter(help="Confidence level of the intervals.")] = None,
    resolution: Annotated[float | None, setting_parameter("resolution")] = None,
    json: Json = False,
) -> int:
    """skillsv estimate .skillsv/my-skill --level 0.9

    Estimate again from the records of a run, finished or not. Costs nothing.
    """
    from skillsv.api.run import load_run
    from skillsv.cli.run_valuation import show

    given_share(resolution, "--resolution")
    loaded = load_run(run, level=level, resolution=resolution)
    loaded.publish()
    show(loaded, json=json, out=sys.stdout)
    return 0
