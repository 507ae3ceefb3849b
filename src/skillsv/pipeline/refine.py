"""A rewritten skill: by an editor, whose result is checked, or by merging redundant units and removing useless ones."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillsv.agents.editor import editor_instruction, make_editor
from skillsv.compiler import compile_skill
from skillsv.compiler.lint import lint_compiled
from skillsv.decide import find_removable
from skillsv.decide.duplicates import RedundantUnits, choose_spare_units, find_redundant
from skillsv.errors import AgentFailure, InputError, RolloutError, SkillSVError, Unavailable
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.protocols import Editor
from skillsv.model.rollout import FailureKind
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import REMOVABLE, UnitReport
from skillsv.pipeline.build_valuation import text_of
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.run import Run
from skillsv.rendering.document import file_digest, tree_digest
from skillsv.rollout import RunFolder
from skillsv.sandbox.workspace import check_relative_path, write_tree
from skillsv.settings import Settings, compile_options

TRIES = 3
"""How often the editor is asked before the skill is left as it is."""

REFUSED = "refused"
"""The folder in the run folder where the last refused skill is kept."""

_BROKEN = ("dangling", "missing-import", "frontmatter")
"""Beginnings of the codes of lint findings that an editor must not introduce."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A new version of a skill.

    `tries` is how often the editor was asked. `merged` holds pairs of units: the removed one, and the one that says the
    same. `removed` are all removed units.
    """

    before: Rendering
    after: Rendering
    tokens_before: int
    tokens_after: int
    tries: int = 0
    merged: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()


async def refine_by(spec: str, run: Run, folder: RunFolder, settings: Settings, place: Path) -> Revision:
    """Rewrite the skill with the editor `spec`. Its options are in `settings`; names of files start at `place`."""
    return await refine_with(run, make_client(make_editor, spec, settings, place), folder)


async def refine_with(run: Run, editor: Editor, folder: RunFolder) -> Revision:
    """Ask the editor and check its skill; where it has faults, ask again and name them, at most twice more."""
    renderer = run.renderer
    before = renderer.render(run.compiled.everything, Operator.DELETE)
    faults: tuple[str, ...] = ()
    for number in range(1, TRIES + 1):
        files, faults = await _ask_editor(run, editor, before, faults)
        after = _replace_files(before, files)
        tokens = 0
        if not faults:
            tokens, faults = _examine(run, after, renderer.total_tokens)
        if not faults:
            return Revision(
                before=before, after=after, tokens_before=renderer.total_tokens, tokens_after=tokens, tries=number
            )
    path = _keep_refused(folder, after)
    raise SkillSVError(
        f"the editor gave no usable skill in {TRIES} tries; the last one was refused: {faults[0]}",
        hint=f"The skill is unchanged; the last try is in {path}." if path else "The skill is unchanged.",
    )


async def _ask_editor(
    run: Run, editor: Editor, before: Rendering, faults: tuple[str, ...]
) -> tuple[Mapping[str, bytes], tuple[str, ...]]:
    """The editor's files, or the fault of its answer. Raises Unavailable where the editor does not run at all."""
    instruction = editor_instruction(run.valuation, faults)
    try:
        return await editor.edit(dict(before.contents), instruction), ()
    except AgentFailure as failure:
        if failure.kind == FailureKind.BAD_OUTPUT:
            return {}, (failure.what,)
        raise Unavailable(f"the editor failed: {failure.what}", hint="The skill is unchanged.") from failure


def _replace_files(before: Rendering, files: Mapping[str, bytes]) -> Rendering:
    """The rendering with the editor's files. Files too large to be shown to it stay, and so do executable bits."""
    old = {file.path: file for file in before.files}
    large = [file for file in before.files if file.data is None]
    new = [
        RenderedFile(
            path=path,
            data=data,
            digest=file_digest(data),
            executable=path in old and old[path].executable,
        )
        for path, data in sorted(files.items())
    ]
    everything = [*new, *(file for file in large if file.path not in files)]
    return replace(before, files=tuple(everything), digest=tree_digest(everything), flags=(), tokens=None)


def _examine(run: Run, after: Rendering, most: int) -> tuple[int, tuple[str, ...]]:
    """The tokens of a rewritten skill, and all its faults. More than `most` tokens are one."""
    outside = [file.path for file in after.files if not _is_inside(file.path)]
    if outside:
        return 0, (f"The path {outside[0]!r} leads out of the skill.",)
    if not any(file.path == after.main for file in after.files):
        return 0, (f"There is no {after.main} in it.",)
    with tempfile.TemporaryDirectory(prefix="skillsv-refine-") as folder:
        try:
            write_tree(after, Path(folder))
            main = Path(folder) / after.main if run.compiled.skill.single_file else Path(folder)
            compiled = compile_skill(main, compile_options(run.settings))
        except (InputError, RolloutError) as error:
            return 0, (f"It is no skill: {error.what}",)
        tokens = make_renderer(compiled, run.settings).total_tokens
        return tokens, tuple(_find_faults(run.compiled, compiled, tokens, most))


def _is_inside(path: str) -> bool:
    """Whether a relative path stays inside the skill."""
    try:
        check_relative_path(path)
    except RolloutError:
        return False
    return True


def _find_faults(old: CompiledSkill, new: CompiledSkill, tokens: int, most: int) -> list[str]:
    faults = []
    if text_of(old, old.trigger) != text_of(new, new.trigger):
        faults.append("The frontmatter has changed; it must stay exactly as it was.")
    known = {(finding.code, finding.message) for finding in lint_compiled(old)}
    faults += [
        f"{finding.file}:{finding.line}: {finding.message}"
        for finding in lint_compiled(new)
        if finding.code.startswith(_BROKEN) and (finding.code, finding.message) not in known
    ]
    if tokens > most:
        faults.append(f"It has {tokens} tokens, more than the {most} of the original.")
    return faults


def _keep_refused(folder: RunFolder, after: Rendering) -> Path | None:
    """Write the last refused skill into the run folder, so that a person can read it; None if it cannot be written."""
    if not after.files or not all(_is_inside(file.path) for file in after.files):
        return None
    path = folder.path / REFUSED / after.digest[:12]
    write_tree(after, path)
    return path


def refine_mechanically(run: Run) -> Revision:
    """Without a model: remove what the verdicts call useless or harmful, and one of two redundant units."""
    compiled, renderer = run.compiled, run.renderer
    useless = find_removable(compiled, (unit.verdict for unit in run.valuation.units), REMOVABLE)
    removed = compiled.reverse_closure(useless) if useless else useless
    reports = {unit.id: unit for unit in run.valuation.units if unit.id not in removed}
    pairs = find_redundant({name: unit.text for name, unit in reports.items()})
    merged = []
    for spare in _choose_spare(run, pairs, reports):
        pair = next(pair for pair in pairs if spare in (pair.first, pair.second))
        also_removed = compiled.reverse_closure(frozenset({spare})) - removed
        if also_removed == {spare}:  # a unit that others need stays
            removed |= also_removed
            merged.append((spare, pair.second if spare == pair.first else pair.first))
    after = renderer.render(compiled.everything - removed, Operator.DELETE)
    return Revision(
        before=renderer.render(compiled.everything, Operator.DELETE),
        after=after,
        tokens_before=renderer.total_tokens,
        tokens_after=renderer.count_tokens(after),
        merged=tuple(merged),
        removed=tuple(unit for unit in compiled.execution if unit in removed),
    )


def _choose_spare(run: Run, pairs: Sequence[RedundantUnits], reports: Mapping[str, UnitReport]) -> list[str]:
    return choose_spare_units(
        pairs,
        {name: unit.value.net_or_zero.value for name, unit in reports.items()},
        {name: unit.tokens for name, unit in reports.items()},
        resolution=run.valuation.estimate.resolution,
    )
