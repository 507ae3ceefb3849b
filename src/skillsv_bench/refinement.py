"""The step `refine` of the protocol: one rewriting of the skill, and versions of the skill compared on panel B."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from skillsv import Proof, Run
from skillsv.extend.runs import RunFolder, Stop, prepare_confirmation, refine_by, run_confirmation
from skillsv.extend.sandbox import write_tree
from skillsv.model.coalition import Rendering
from skillsv_bench.benchmark_run import BenchmarkRun, SharedBudget

REFINED = "refined"
"""The folder of rewritten skills in a run folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinementResult:
    """Another version of the skill: its files, its size beside the old one, and the comparison on panel B."""

    rendering: Rendering
    tokens_before: int
    tokens_after: int
    proof: Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuedSkill:
    """What the steps after the valuation work with: the run in its folder, what is left of the budget, the stop."""

    benchmark_run: BenchmarkRun
    run: Run
    folder: RunFolder
    budget: SharedBudget
    stop: Stop


async def refine(valued: ValuedSkill) -> RefinementResult:
    """Rewrite the skill once and compare it on panel B. The run folder keeps the new skill for a resumed run."""
    benchmark_run = valued.benchmark_run
    assert benchmark_run.editor is not None
    place = valued.folder.path / REFINED / digest_refinement(benchmark_run.editor, valued.folder)
    if not place.exists():
        job = benchmark_run.job
        revision = await refine_by(benchmark_run.editor, valued.run.stored, valued.folder, job.settings, job.folder)
        write_tree(revision.after, place)
    return await compare_version(valued, place)


async def compare_version(valued: ValuedSkill, place: Path) -> RefinementResult:
    """Compare the version of the skill in the folder `place` with the old one on panel B."""
    skill = valued.run.skill.compiled.skill
    job = valued.benchmark_run.confirmation(
        valued.folder.path, valued.budget.make_overrides(), place / skill.main if skill.single_file else place
    )
    prepared = prepare_confirmation(job)
    proof = await run_confirmation(prepared, valued.budget, valued.stop, keep=False)
    versions = prepared.versions
    return RefinementResult(
        rendering=prepared.new,
        tokens_before=versions.tokens_old,
        tokens_after=versions.tokens_new,
        proof=proof,
    )


def digest_refinement(editor: str, folder: RunFolder) -> str:
    """Identify a rewriting by its editor and its run."""
    return hashlib.sha256(f"{editor}\n{folder.run_id}".encode()).hexdigest()[:16]
