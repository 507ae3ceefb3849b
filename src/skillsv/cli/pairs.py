"""`skillsv pairs`: finds redundant and complementary pairs of units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from skillsv.cli.flags import Json
from skillsv.cli.spending_flags import SpendingFlags
from skillsv.errors import SettingsError

if TYPE_CHECKING:
    from skillsv.confirmation.interaction_tests import TestedPair
    from skillsv.decide.interactions import SuspectedPair

RELATIONS = {
    "redundant": "redundant: either one alone does the work of both",
    "complementary": "complementary: neither does its work without the other",
    "independent": "independent",
    "unresolved": "unresolved",
}
"""What a tested relation of two units means."""


def pairs(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    pair: Annotated[tuple[str, ...], Parameter(negative=(), help="Two unit ids, A,B; may be given again.")] = (),
    most: Annotated[int, Parameter(help="Test at most so many suspected pairs.")] = 5,
    window: Annotated[int, Parameter(name=["--window", "-b"], help="Tasks of panel A to test on.")] = 48,
    replicates: Annotated[int | None, Parameter(help="Rollouts per task and version [1, or 3 if noisy].")] = None,
    list_only: Annotated[bool, Parameter(name="--list", negative=(), help="Only list suspects, at no cost.")] = False,
    json: Json = False,
    spending: SpendingFlags | None = None,
) -> int:
    """skillsv pairs .skillsv/my-skill --max-rollouts 500

    Find units that stand in for each other, and units that need each other. Suspects come from the records of the run:
    units whose effect depends on whether the other was there. Each is then tested on tasks of panel A: without one,
    without the other, without both.
    """
    from skillsv.cli.printing import deliver, json_text
    from skillsv.pipeline import PairsJob, prepare_pairs, run_pair_tests

    flags = spending or SpendingFlags()
    if most < 1 or window < 2 or (replicates is not None and replicates < 1):
        raise SettingsError("a test needs a pair, two tasks and a replicate.", hint="Try --most 5 --window 48.")
    job = PairsJob(
        run=run,
        overrides=flags.overrides(),
        pairs=tuple(_read_pair(text) for text in pair),
        most=most,
        window=window,
        replicates=replicates,
    )
    prepared = prepare_pairs(job)
    tested: tuple[TestedPair, ...] = ()
    if prepared.pairs and not list_only:
        flags.consent(prepared.forecast)
        tested = flags.spend(lambda listener, stop: run_pair_tests(prepared, listener, stop))
    if json:
        table = {
            "schema": "skillsv.pairs/1",
            "suspected": [asdict(suspicion) for suspicion in prepared.suspicions],
            "tested": [asdict(test) for test in tested],
        }
        deliver(json_text(table), None)
    else:
        deliver("".join(f"{line}\n" for line in _lines(prepared.suspicions, tested)), None)
    return 0


def _read_pair(text: str) -> tuple[str, str]:
    names = [word.strip() for word in text.split(",")]
    if len(names) != 2 or not all(names):
        raise SettingsError(f"--pair {text} does not name two units.", hint="Write A,B.")
    return names[0], names[1]


def _lines(suspicions: tuple[SuspectedPair, ...], tested: tuple[TestedPair, ...]) -> Iterator[str]:
    from skillsv.model.format import decimal, with_bounds

    if not suspicions and not tested:
        yield "No suspicious pair was found: no rollout so far shows that a unit's effect depends on another one."
        yield "That rules none out: a pair shows only in rollouts without one of its units, and without both."
    for suspicion in suspicions if not tested else ():
        kind = "redundant" if suspicion.score < 0 else "complementary"
        errors = decimal(abs(suspicion.score), digits=1)
        yield f"{suspicion.first} and {suspicion.second}: perhaps {kind} ({errors} standard errors)."
    for found in tested:
        yield f"{found.first} and {found.second}: {RELATIONS[found.relation]}."
        yield (
            f"  loss without the first {with_bounds(found.without_first, signed=False)}, the second "
            f"{with_bounds(found.without_second, signed=False)}, both {with_bounds(found.without_both, signed=False)}; "
            f"interaction {with_bounds(found.interaction)} points, {found.tasks} tasks."
        )
