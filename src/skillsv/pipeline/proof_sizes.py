"""The sizes that a shrink has fixed for its proofs: the same command again proves with these, not with larger ones.

Retries take from the rollouts of a proof. A command that goes on has none of the retries of the one before it, so it
would ask the same held-out tasks more often, after their first outcome was seen. So what retries left is stored beside
the ledger before a proof begins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from skillsv.errors import RecordsError
from skillsv.pipeline.job import make_manifest
from skillsv.pipeline.shrink_preparation import PreparedShrink
from skillsv.rollout import RunFolder, run_id
from skillsv.rollout.durable_files import write_whole
from skillsv.rollout.run_folder import PROOF_SIZES

RETRIES = "retries"
"""The name of the attempts that retries took before the proofs were planned."""

CONTENT_PAIRS = "content pairs"
"""The name of the pairs of the second look at the content."""

Sizes = dict[str, dict[str, int]]
"""Numbers by the identity of a shrink, then by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofSizes:
    """The stored sizes of one shrink. Runs of earlier versions stored none."""

    folder: RunFolder
    identity: str

    def keep(self, name: str, number: int) -> int:
        """The number that was stored first under this name; without any it is this one, which is stored."""
        sizes = self._read()
        mine = sizes.setdefault(self.identity, {})
        if name not in mine:
            mine[name] = number
            data = msgspec.json.format(msgspec.json.encode(sizes), indent=2)
            write_whole(self.folder.ledger.parent / PROOF_SIZES, data)
        return mine[name]

    def holds(self, name: str) -> bool:
        """Whether a number is stored under this name."""
        return name in self._read().get(self.identity, {})

    def _read(self) -> Sizes:
        path = self.folder.ledger.parent / PROOF_SIZES
        try:
            return msgspec.json.decode(path.read_bytes(), type=Sizes)
        except FileNotFoundError:
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "Restore it from a copy: it says how large the proofs of this folder are."
            raise RecordsError(f"is no list of sizes ({error}).", where=str(path), hint=hint) from error


def identify_shrink(agents: Sequence[PreparedShrink]) -> str:
    """The short name of a shrink for these agents: the same for all commands with the same runs, goal and options."""
    rows = [_describe(agent) for agent in agents]
    return hashlib.sha256(msgspec.json.encode(rows, order="deterministic")).hexdigest()[:12]


def _describe(shrink: PreparedShrink) -> dict[str, object]:
    """What the path of a shrink depends on."""
    goal, options, settings = shrink.goal, shrink.options, shrink.prepared.job.settings
    return {
        "run": run_id(make_manifest(shrink.prepared)),
        "rollouts": goal.rollouts,
        "max_drop": goal.gate.max_drop,
        "level": goal.gate.level,
        "same_tasks": goal.same_tasks,
        "held_out": [task.digest for task in shrink.held_out],
        "kept": sorted(shrink.kept),
        "judge": settings.judge if options.ask_judge else None,
        "editor": options.editor,
        "by_values": options.by_values,
    }
