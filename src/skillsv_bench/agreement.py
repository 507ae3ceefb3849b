"""The agreement of rankings over all benchmarks, with Holm's correction over all pairs together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillsv.extend.comparison import holm
from skillsv_bench.results import Results

SIGNIFICANT = 0.05
"""A corrected p below this differs from chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledAgreement:
    """Two methods on one benchmark. `p_holm` is corrected over all pairs of all benchmarks.

    All three numbers are None where one of the rankings is a single tie.
    """

    benchmark: str
    first: str
    second: str
    tau: float | None
    p: float | None
    p_holm: float | None

    @property
    def differs_from_chance(self) -> bool:
        """Whether the corrected p is small."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT


def pool_agreements(all_results: Sequence[Results]) -> tuple[PooledAgreement, ...]:
    """All pairs of methods of all benchmarks, corrected together."""
    pairs = [(result["title"], pair) for result in all_results for pair in result["held_out"]["agreements"]]
    corrected = iter(holm([pair["p"] for _, pair in pairs if pair["p"] is not None]))
    return tuple(
        PooledAgreement(
            benchmark=title,
            first=pair["first"],
            second=pair["second"],
            tau=pair["tau"],
            p=pair["p"],
            p_holm=None if pair["p"] is None else next(corrected),
        )
        for title, pair in pairs
    )
