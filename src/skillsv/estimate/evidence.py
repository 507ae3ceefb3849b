"""What an interval shows about a unit: five kinds that are never mixed."""

from __future__ import annotations

from skillsv.model.value import Evidence, Interval

FINEST, COARSEST = 0.01, 0.03


def reporting_resolution(answers: int) -> float:
    """The size below which a net effect counts as about zero, unless the user sets it.

    One answer in all windows moves a value by 1/(bK), and zero events in bK tries leave up to 3/(bK) open (the rule of
    three), so a run cannot report finer than that. Finer than one point nobody acts on; coarser than three points must
    not be called negligible, however small the run.
    """
    return min(max(3.0 / max(answers, 1), FINEST), COARSEST)


def evidence_of(net: Interval, *, resolution: float, tested: bool, identical: bool) -> Evidence:
    """The kind of evidence. A unit that no chain ever tested is unresolved, whatever its number says."""
    if identical:
        return Evidence.IDENTICAL
    if not tested:
        return Evidence.UNRESOLVED
    if -resolution <= net.low and net.high <= resolution:
        return Evidence.NEGLIGIBLE
    if net.low > 0:
        return Evidence.POSITIVE
    return Evidence.NEGATIVE if net.high < 0 else Evidence.UNRESOLVED
