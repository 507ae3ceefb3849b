"""The values that a run has published, read without estimating again: for editors, which ask at every keystroke."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from skillsv.decide import find_removable
from skillsv.errors import RecordsError
from skillsv.model.coalition import Operator
from skillsv.model.edit import ProofOutcome
from skillsv.model.skill import CompiledSkill
from skillsv.model.valuation_document import UnitDocument, ValuationDocument
from skillsv.model.value import REMOVABLE, Action, Verdict
from skillsv.pipeline.job import TRIGGER, make_renderer
from skillsv.pipeline.publish import recorded_confirmation, recorded_proof
from skillsv.pipeline.run import compile_stored_skill, manifest_settings, read_manifest
from skillsv.pipeline.shrink_documents import SHRINK_FILE
from skillsv.report.sentences import proof_sentence
from skillsv.rollout import RunFolder
from skillsv.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredValues:
    """What a run says about the units of a skill, by their ids.

    `compiled` is the skill as it was valued, `settings` those of the run. `proved` are units whose deletion, all of
    them together, was proved to be no worse; `proof` is the sentence about it. `provisional`: the run is not finished.
    """

    folder: Path
    compiled: CompiledSkill
    settings: Settings
    units: Mapping[str, UnitDocument]
    agent: str
    provisional: bool
    proved: frozenset[str] = frozenset()
    proof: str = ""

    @property
    def deletable(self) -> frozenset[str]:
        """The units that may go: their deletion is proved, or the agent gets the same bytes without them."""
        same_bytes = (unit for unit, value in self.units.items() if Action(value["verdict"]) is Action.DELETE)
        return self.proved.union(same_bytes)


def read_stored_values(path: Path) -> StoredValues:
    """The published values of a run. Raises RecordsError where there are none, or where they cannot be read."""
    folder = RunFolder(path)
    manifest = read_manifest(folder)
    if manifest["about"].get("kit") == TRIGGER:
        raise RecordsError("this run evaluated the description of a skill.", where=str(path), hint="Value the skill.")
    valuation = _read_valuation(folder)
    settings = manifest_settings(manifest)
    compiled = compile_stored_skill(folder, manifest["skill"], settings)
    units = {unit["id"]: unit for unit in valuation["units"]}
    if not units.keys() <= compiled.unit.keys():
        raise RecordsError("the values are of another skill.", where=str(folder.valuation), hint="Value it again.")
    proved = _proved_units(folder, compiled, settings, units)
    proof = recorded_confirmation(folder) if proved else None
    return StoredValues(
        folder=path,
        compiled=compiled,
        settings=settings,
        units=units,
        agent=manifest["agent"]["spec"],
        provisional=valuation["provisional"],
        proved=proved,
        proof="" if proof is None else proof_sentence(proof),
    )


def _read_valuation(folder: RunFolder) -> ValuationDocument:
    try:
        return msgspec.json.decode(folder.valuation.read_bytes(), type=ValuationDocument)
    except FileNotFoundError as error:
        hint = "'skillsv estimate' writes it, once a first round is complete."
        raise RecordsError("this run has no values yet.", where=str(folder.path), hint=hint) from error
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordsError(
            f"is no valuation ({error}).", where=str(folder.valuation), hint="'skillsv estimate' writes it again."
        ) from error


def _proved_units(
    folder: RunFolder, compiled: CompiledSkill, settings: Settings, units: Mapping[str, UnitDocument]
) -> frozenset[str]:
    """The units that the last proof removed, where it has shown that the rest is no worse; else none.

    A proof names the digest of the shorter skill. A set is proved only where its rendering has this digest.
    """
    proof = recorded_proof(folder)
    if proof.get("outcome") != ProofOutcome.NO_WORSE:
        return frozenset()
    renderer = make_renderer(compiled, settings)
    for removed in _removal_sets(folder, compiled, units):
        if not removed or compiled.reverse_closure(removed) != removed:
            continue
        after = renderer.render(compiled.everything - removed, Operator.DELETE)
        if after.digest in proof.get("looks", ()) and renderer.count_tokens(after) == proof.get("tokens_new"):
            return removed
    return frozenset()


def _removal_sets(
    folder: RunFolder, compiled: CompiledSkill, units: Mapping[str, UnitDocument]
) -> Iterator[frozenset[str]]:
    """The sets that `prune` and `shrink` remove, as far as the run folder knows them."""
    verdicts = [Verdict(unit=unit, action=Action(value["verdict"]), reason="") for unit, value in units.items()]
    removable = find_removable(compiled, verdicts, REMOVABLE)
    yield removable | compiled.unreached_without(removable)
    yield removable
    try:
        shrunk = msgspec.json.decode((folder.path / SHRINK_FILE).read_bytes(), type=dict[str, object])
        removed = frozenset(msgspec.convert(shrunk.get("removed", []), list[str]))
    except (OSError, msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        return
    if removed <= compiled.unit.keys() - {compiled.trigger}:
        yield removed
