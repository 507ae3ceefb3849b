"""A rewritten skill: an editor's, checked before it is believed, or one with duplicates merged and dead weight gone."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillsv.agents.editor import editor_instruction
from skillsv.compile import compile_skill
from skillsv.compile.lint import lint_compiled
from skillsv.decide import removable
from skillsv.decide.duplicates import RedundantUnits, find_redundant, spare_redundant
from skillsv.errors import AgentFailure, InputError, RolloutError, SkillSVError, Unavailable
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.protocols import Editor
from skillsv.model.rollout import FailureKind
from skillsv.model.skill import CompiledSkill
from skillsv.model.value import UnitReport
from skillsv.pipeline.build_valuation import text_of
from skillsv.pipeline.edit import REMOVABLE
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.run import Run
from skillsv.render.document import file_digest, tree_digest
from skillsv.rollout import RunFolder
from skillsv.sandbox.workspace import inside, write_tree
from skillsv.settings import compile_options

TRIES = 3
REFUSED = "refused"
_BROKEN = ("dangling", "missing-import", "frontmatter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A new version of a skill. `tries` is how often the editor was asked; `merged` and `removed` name units."""

    before: Rendering
    after: Rendering
    tokens_before: int
    tokens_after: int
    tries: int = 0
    merged: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()


async def refine_with(run: Run, editor: Editor, folder: RunFolder) -> Revision:
    """Ask the editor, check what comes back, and ask again with what was wrong, at most twice more."""
    renderer = make_renderer(run.compiled, run.settings)
    before = renderer.render(run.compiled.everything, Operator.DELETE)
    complaints: tuple[str, ...] = ()
    for number in range(1, TRIES + 1):
        files, complaints = await _asked(run, editor, before, complaints)
        after = revised(before, files)
        tokens, found = (0, complaints) if complaints else examine(run, after, renderer.total_tokens)
        if not found:
            return Revision(
                before=before, after=after, tokens_before=renderer.total_tokens, tokens_after=tokens, tries=number
            )
        complaints = found
    kept = _keep_refused(folder, after)
    raise SkillSVError(
        f"the editor gave no usable skill in {TRIES} tries; the last one was refused: {complaints[0]}",
        hint=f"The skill is unchanged; the last try lies in {kept}." if kept else "The skill is unchanged.",
    )


async def _asked(
    run: Run, editor: Editor, before: Rendering, complaints: tuple[str, ...]
) -> tuple[Mapping[str, bytes], tuple[str, ...]]:
    """The editor's files, or what was wrong with its answer. An editor that does not run at all ends it."""
    instruction = editor_instruction(run.valuation, complaints)
    try:
        return await editor.edit(dict(before.contents), instruction), ()
    except AgentFailure as failure:
        if failure.kind == FailureKind.BAD_OUTPUT:
            return {}, (failure.what,)
        raise Unavailable(f"the editor failed: {failure.what}", hint="The skill is unchanged.") from failure


def revised(before: Rendering, files: Mapping[str, bytes]) -> Rendering:
    """The rendering with an editor's files; what is too large to be shown to it stays, and so do run bits."""
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


def examine(run: Run, after: Rendering, most: int) -> tuple[int, tuple[str, ...]]:
    """The tokens of a rewritten skill, and everything that is wrong with it."""
    outside = [file.path for file in after.files if not _stays(file.path)]
    if outside:
        return 0, (f"The path {outside[0]!r} leads out of the skill.",)
    if not any(file.path == after.main for file in after.files):
        return 0, (f"There is no {after.main} in it.",)
    with tempfile.TemporaryDirectory(prefix="skillsv-refine-") as place:
        try:
            write_tree(after, Path(place))
            main = Path(place) / after.main if run.compiled.skill.single_file else Path(place)
            compiled = compile_skill(main, compile_options(run.settings))
        except (InputError, RolloutError) as trouble:
            return 0, (f"It is no skill: {trouble.what}",)
        tokens = make_renderer(compiled, run.settings).total_tokens
        return tokens, tuple(_complaints(run.compiled, compiled, tokens, most))


def _stays(path: str) -> bool:
    try:
        inside(path)
    except RolloutError:
        return False
    return True


def _complaints(old: CompiledSkill, new: CompiledSkill, tokens: int, most: int) -> list[str]:
    found = []
    if text_of(old, old.trigger) != text_of(new, new.trigger):
        found.append("The frontmatter has changed; it must stay exactly as it was.")
    known = {(finding.code, finding.message) for finding in lint_compiled(old)}
    found += [
        f"{finding.file}:{finding.line}: {finding.message}"
        for finding in lint_compiled(new)
        if finding.code.startswith(_BROKEN) and (finding.code, finding.message) not in known
    ]
    if tokens > most:
        found.append(f"It has {tokens} tokens, more than the {most} of the original.")
    return found


def _keep_refused(folder: RunFolder, after: Rendering) -> Path | None:
    """The last try, for a person to look at, if it can be written at all."""
    if not after.files or not all(_stays(file.path) for file in after.files):
        return None
    write_tree(after, folder.path / REFUSED / after.digest[:12])
    return folder.path / REFUSED / after.digest[:12]


def refine_mechanically(run: Run) -> Revision:
    """Without a model: near duplicates merged into the more valuable twin, then what the verdicts call worthless."""
    compiled, renderer = run.compiled, make_renderer(run.compiled, run.settings)
    gone = removable(compiled, (unit.verdict for unit in run.valuation.units), REMOVABLE)
    gone = compiled.reverse_closure(gone) if gone else gone
    reports = {unit.id: unit for unit in run.valuation.units if unit.id not in gone}
    found = find_redundant({name: unit.text for name, unit in reports.items()})
    merged = []
    for spare in _spare(run, found, reports):
        pair = next(pair for pair in found if spare in (pair.first, pair.second))
        taken = compiled.reverse_closure(frozenset({spare})) - gone
        if taken == {spare}:  # a twin that others need stays
            gone |= taken
            merged.append((spare, pair.second if spare == pair.first else pair.first))
    kept = compiled.everything - gone
    after = renderer.render(kept, Operator.DELETE)
    return Revision(
        before=renderer.render(compiled.everything, Operator.DELETE),
        after=after,
        tokens_before=renderer.total_tokens,
        tokens_after=renderer.count_tokens(after),
        merged=tuple(merged),
        removed=tuple(unit for unit in compiled.execution if unit in gone),
    )


def _spare(run: Run, found: Sequence[RedundantUnits], reports: Mapping[str, UnitReport]) -> list[str]:
    return spare_redundant(
        found,
        {name: unit.value.net.value for name, unit in reports.items()},
        {name: unit.tokens for name, unit in reports.items()},
        resolution=run.valuation.estimate.resolution,
    )
