"""Which tasks the runs of a folder have used for values, and which are held out: read from manifests and ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from skillsv.errors import RecordsError
from skillsv.model.fingerprint import first_part
from skillsv.model.task import Task
from skillsv.rollout import Ledger, RunFolder
from skillsv.rollout.ledger import TAKEN_OVER
from skillsv.tasks import KnownPanels

PROOFS = ("-confirm", "-shrink")
"""Endings of the names under which the ledger keeps rollouts of proofs: no value is estimated from these."""


def known_panels(folder: RunFolder) -> KnownPanels:
    """The panels of all runs that share the ledger: what any value has seen, and what is held out since."""
    manifests = folder.other_manifests()
    try:
        current = folder.manifest()
    except RecordsError:  # whoever reads the run says what is wrong with it
        current = None
    if current is not None:
        manifests.append(current)
    return KnownPanels(
        a=frozenset().union(*(_digests(manifest, "panel_a") for manifest in manifests), seen_by_values(folder)),
        b=frozenset().union(*(_digests(manifest, "panel_b") for manifest in manifests)),
    )


def _digests(manifest: Mapping[str, Any], panel: str) -> frozenset[str]:
    tasks = manifest.get(panel)
    return frozenset(map(first_part, tasks.values())) if isinstance(tasks, Mapping) else frozenset()


def seen_by_values(folder: RunFolder) -> frozenset[str]:
    """The digests of all tasks with a rollout in the ledger that was not run for a proof."""
    if not folder.ledger.is_file():
        return frozenset()
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        rows = ledger.tasks_of_runs()
    return frozenset(first_part(task) for task, run in rows if run != TAKEN_OVER and not run.endswith(PROOFS))


def unseen_tasks(tasks: Iterable[Task], folder: RunFolder) -> tuple[Task, ...]:
    """The tasks that no value of the folder has seen, by the ledger."""
    seen = seen_by_values(folder)
    return tuple(task for task in tasks if first_part(task.digest) not in seen)
