"""The estimate as a ranking, to stand beside the baselines."""

from __future__ import annotations

from skillsv.model.value import Estimate, Ranking


def ranking_of(estimate: Estimate) -> Ranking:
    """Net effects of all execution units, under the estimate's method name."""
    values = {unit.id: unit.net for unit in estimate.units}
    return Ranking(method=f"skillsv-{estimate.method}", values=values, notes=estimate.notes)
