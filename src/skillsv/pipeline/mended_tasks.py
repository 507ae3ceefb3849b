"""Held-out tasks that a shrink has used to mend a set after its proof: they prove nothing any more.

A shrink stores them beside the ledger before it mends. Earlier versions stored nothing, so for their runs the tasks are
found in the ledger: a proof asks every version on its tasks in turn, and only trials ask for a partial skill on none
but tasks that have just lost score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from skillsv.errors import RecordsError
from skillsv.model.coalition import Observation
from skillsv.model.fingerprint import first_part
from skillsv.pipeline.shrink_plan import NOISY_IF
from skillsv.rollout import Ledger, RunFolder
from skillsv.rollout.durable_files import write_whole
from skillsv.rollout.ledger import ScoredRendering
from skillsv.rollout.run_folder import MENDED_TASKS

SHRINK = "-shrink"
"""Ending of the names under which the ledger keeps trials and proofs of a shrink."""

PROOFS = ("-confirm", SHRINK)
"""Endings of the names under which the ledger keeps rollouts of proofs: no value is estimated from these."""


def read_mended(folder: RunFolder) -> dict[str, frozenset[str]]:
    """For each shrink that shares the ledger, by the name of its run: the first parts of its tasks' digests."""
    stored = _read_stored(folder)
    if not folder.ledger.is_file():
        return stored
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        rows = ledger.renderings_of(SHRINK)
    names = {row.run.removesuffix(SHRINK) for row in rows if row.run.endswith(SHRINK)}
    return stored | {name: _find_unstored(folder, name, rows) for name in sorted(names - stored.keys())}


def keep_mended(folder: RunFolder, digests: Iterable[str]) -> None:
    """Add these tasks to those that the current run has used to mend a set. Without any, none were used so far."""
    run, stored = folder.run_id, _read_stored(folder)
    known = stored.get(run)
    if known is None:
        known = read_mended(folder).get(run, frozenset())
    stored[run] = known | set(map(first_part, digests))
    rows = {name: sorted(tasks) for name, tasks in stored.items()}
    write_whole(folder.ledger.parent / MENDED_TASKS, msgspec.json.format(msgspec.json.encode(rows), indent=2))


def _read_stored(folder: RunFolder) -> dict[str, frozenset[str]]:
    path = folder.ledger.parent / MENDED_TASKS
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, frozenset[str]])
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = "Restore it from a copy: it says which tasks are not held out any more."
        raise RecordsError(f"is no list of tasks ({error}).", where=str(path), hint=hint) from error


def _find_unstored(folder: RunFolder, run: str, rows: Sequence[ScoredRendering]) -> frozenset[str]:
    """The tasks of a run of an earlier version. A noisy agent's sets are never mended."""
    found = find_mended(rows, run)
    return frozenset() if not found or _was_noisy(folder, run) else found


def find_mended(rows: Sequence[ScoredRendering], run: str) -> frozenset[str]:
    """The first parts of the digests of the tasks on which a run mended a set, and of those of the proof before it.

    `rows` are in the order in which they were saved.
    """
    valued = {first_part(row.task) for row in rows if not row.run.endswith(PROOFS)}
    rows = [row for row in rows if first_part(row.task) not in valued]
    own = [row for row in rows if row.run == f"{run}{SHRINK}"]
    agents, tasks = {row.agent for row in own}, {row.task for row in own}
    scores: dict[str, dict[str, float]] = defaultdict(dict)  # by task, then by rendering in the order of saving
    asked: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.agent in agents and row.task in tasks:
            scores[row.task].setdefault(row.tree, row.score)
            asked[row.tree].add(row.task)
    if not asked:
        return frozenset()
    full = max(asked, key=lambda tree: (len(asked[tree]), sum(scores[task][tree] for task in asked[tree])))
    found: set[str] = set()
    for tree in {row.tree for row in own} - {full}:
        lost = {task: _lost_before(scores[task], tree, full) for task in asked[tree]}
        if all(lost.values()):
            proofs = set[str]().union(*lost.values())
            found |= asked[tree].union(*(asked[proof] for proof in proofs))
    return frozenset(map(first_part, found))


def _lost_before(scores: Mapping[str, float], tree: str, full: str) -> Collection[str]:
    """The renderings that lost score against the full skill on a task before this one was asked for."""
    trees = list(scores)
    before = trees[: trees.index(tree)]
    return [other for other in before if full in scores and other != full and scores[other] < scores[full]]


def _was_noisy(folder: RunFolder, run: str) -> bool:
    """Whether the agent of a run was treated as noisy; False where its records are gone."""
    for place in folder.places():
        try:
            if place.run_id == run:
                return _is_noisy(place.observations())
        except (RecordsError, OSError):
            continue
    return False


def _is_noisy(observations: Sequence[Observation]) -> bool:
    """Whether the policy called the agent noisy, or null changes of the full skill altered scores."""
    full = max((item.coalition for item in observations), key=len, default=frozenset[str]())
    whole = [item for item in observations if item.coalition == full and item.score is not None]
    plain = {item.task: item.score for item in whole if not item.replicate and not item.null_change}
    altered = sum(plain.get(item.task, item.score) != item.score for item in whole if item.null_change)
    return altered >= NOISY_IF or any(item.agent_is_noisy for item in observations)
