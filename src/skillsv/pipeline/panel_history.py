"""Which tasks the runs of a folder have used to choose, and which are held out: from manifests and ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from skillsv.errors import RecordsError
from skillsv.model.fingerprint import first_part
from skillsv.model.task import Task
from skillsv.pipeline.mended_tasks import PROOFS, read_mended
from skillsv.rollout import Ledger, RunFolder
from skillsv.rollout.ledger import TAKEN_OVER
from skillsv.tasks import KnownPanels


def known_panels(folder: RunFolder, *, resumed: str = "") -> KnownPanels:
    """The panels of all runs that share the ledger: what values have seen or sets were mended on, and what is held out.

    `resumed` names a shrink that goes on: it mends its set on the same tasks again, and leaves them out itself.
    """
    manifests = folder.other_manifests()
    try:
        current = folder.manifest()
    except RecordsError:  # whoever reads the run says what is wrong with it
        current = None
    if current is not None:
        manifests.append(current)
    seen = seen_tasks(folder, resumed=resumed)
    return KnownPanels(
        a=seen.union(*(_digests(manifest, "panel_a") for manifest in manifests)),
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


def mended_tasks(folder: RunFolder, *, resumed: str = "") -> frozenset[str]:
    """The digests of all tasks that a shrink has used to mend a set, but for the shrink `resumed`."""
    return frozenset[str]().union(*(tasks for run, tasks in read_mended(folder).items() if run != resumed))


def seen_tasks(folder: RunFolder, *, resumed: str = "") -> frozenset[str]:
    """The digests of all tasks that are not held out any more: seen by a value, or used to mend a set."""
    return seen_by_values(folder) | mended_tasks(folder, resumed=resumed)


def unseen_tasks(tasks: Iterable[Task], seen: Collection[str]) -> tuple[Task, ...]:
    """The tasks whose digests are not among these."""
    return tuple(task for task in tasks if first_part(task.digest) not in seen)
