"""Counts what judges and editors use: they are called where only a score or a skill is returned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from skillsv.model.rollout import Usage


@dataclass(slots=True)
class UsageMeter:
    """The calls of one block of code, and what they used together."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)


_METERS: ContextVar[tuple[UsageMeter, ...]] = ContextVar("usage_meters", default=())
"""The meters of the blocks that are running, the innermost last."""


@contextmanager
def meter_usage() -> Iterator[UsageMeter]:
    """Count what is reported while the block runs, also where it ends with an error."""
    meter = UsageMeter()
    token = _METERS.set((*_METERS.get(), meter))
    try:
        yield meter
    finally:
        _METERS.reset(token)


def report_usage(usage: Usage) -> None:
    """Report one call of a model to every block that counts."""
    for meter in _METERS.get():
        meter.calls += 1
        meter.usage += usage
