"""`skillsv orders`: samples feasible insertion orders."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import CompileFlags, Json, given
from skillsv.cli.printing import deliver, json_text
from skillsv.errors import SettingsError
from skillsv.model.format import count
from skillsv.model.skill import CompiledSkill
from skillsv.settings import DEFAULTS

if TYPE_CHECKING:
    from skillsv.api.skill import Skill


def orders(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    count: Annotated[int, Parameter(name=["--count", "-n"], help="How many orders to draw.")] = 10,
    seed: Annotated[int, Parameter(help="The same seed gives the same orders.")] = DEFAULTS.seed,
    exact: Annotated[
        bool, Parameter(negative=(), help="Print the number of reachable partial skills instead of orders.")
    ] = False,
    json: Json = False,
    flags: CompileFlags | None = None,
) -> int:
    """skillsv orders my-skill -n 1000 --seed 7 --json

    Draw insertion orders in which every unit comes after what it needs and sections stay together: the orders that
    values are averaged over. One order a line, as unit ids; with --json a list of lists.
    """
    from skillsv.api.skill import compile as compile_skill

    if count < 1:
        raise SettingsError(f"-n {count} asks for no order at all.", hint="Give a number of at least 1.")
    if seed < 0:
        raise SettingsError(f"--seed {seed} is negative.", hint="Give a number of at least 0.")
    compiled = compile_skill(skill, **given(flags))
    if exact:
        _print_reachable(compiled.compiled, json=json)
    else:
        _print_orders(compiled, count, seed, json=json)
    return 0


def _print_reachable(compiled: CompiledSkill, *, json: bool) -> None:
    from skillsv.order import COUNT_LIMIT, LIMIT, count_reachable

    reachable, units = count_reachable(compiled), len(compiled.units)
    listed, counted = reachable <= LIMIT, reachable < COUNT_LIMIT
    if json:
        deliver(json_text({"units": units, "reachable": reachable if counted else None, "exact": listed}), None)
        return
    number = count(reachable) if counted else "More than 10^30"
    how = "exactly" if listed else f"by sampling orders, since these are more than {count(LIMIT)}"
    deliver(f"{number} partial skills of {count(units)} units are reachable. A known game is valued {how}.\n", None)


def _print_orders(skill: Skill, count: int, seed: int, *, json: bool) -> None:
    from skillsv.api.skill import draw_orders

    drawn = draw_orders(skill, count, seed)
    if json:
        deliver("[" + ",\n ".join(json_format.dumps(order) for order in drawn) + "]\n", None)
        return
    for order in drawn:
        deliver(" ".join(order) + "\n", None)
