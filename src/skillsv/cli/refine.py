"""`skillsv refine`: lets an editor rewrite a skill, checks the result and confirms it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from skillsv.cli.flags import Json, given_share
from skillsv.cli.printing import say
from skillsv.cli.spending_flags import SpendingFlags
from skillsv.errors import SettingsError
from skillsv.model.format import count, percent

if TYPE_CHECKING:
    from skillsv.api.shorten import Proof
    from skillsv.pipeline import Revision, Run


def refine(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    editor: Annotated[
        str | None, Parameter(help="model:PROVIDER:NAME, command:PROGRAM ... or python:FILE.py:name.")
    ] = None,
    mechanical: Annotated[bool, Parameter(negative=(), help="Merge duplicates and delete, without an editor.")] = False,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Write the new skill here.")],
    force: Annotated[bool, Parameter(negative=(), help="Replace an earlier output of skillsv, if unchanged.")] = False,
    diff: Annotated[bool, Parameter(negative=(), help="Show what changes.")] = False,
    confirm: Annotated[bool, Parameter(negative="--no-confirm", help="Compare old and new on panel B.")] = True,
    max_drop: Annotated[
        float | None, Parameter(help="Points that may be lost; fail unless no more is shown [5].")
    ] = None,
    level: Annotated[float, Parameter(help="Confidence level, in percent or as a share.")] = 95,
    json: Json = False,
    spending: SpendingFlags | None = None,
) -> int:
    """skillsv refine .skillsv/my-skill --editor "command:./edit.sh" -o my-new-skill --yes

    Let an editor rewrite the skill with the values in hand: keep what is worth much, remove what is worth nothing or
    harms, tighten what costs. What comes back is checked (it compiles, nothing dangles, the frontmatter is intact, it
    is not longer), tried at most three times, and then compared with the old skill on panel B, once.
    A model that edits is asked on the server of the run (--base-url of 'skillsv value').
    """
    from skillsv.cli.printing import deliver, json_text, print_lines, styled_patch

    flags = spending or SpendingFlags()
    if bool(editor) == mechanical:
        raise SettingsError("a refinement is by --editor or --mechanical.", hint="Give one of them.")
    if max_drop is not None and not confirm:
        raise SettingsError("--max-drop is judged on panel B.", hint="Leave out --no-confirm.")
    drop = given_share(max_drop, "--max-drop")
    loaded = _ask_consent(run, flags, editor, confirm=confirm)
    revision = _write_revision(loaded, run, editor, output, force=force)
    if diff:
        print_lines(styled_patch(revision.before.contents, revision.after.contents))
    proof = _confirm_revision(run, output, flags, level, drop) if confirm else None
    deliver(json_text(_table(revision, proof)) if json else "\n".join(_lines(revision, proof)) + "\n", None)
    if proof is not None:
        proof.require()
    return 0


def _ask_consent(run: Path, flags: SpendingFlags, editor: str | None, *, confirm: bool) -> Run:
    """Ask whether to spend what the confirmation costs, and return the run."""
    from skillsv.pipeline import ConfirmJob, load_run, prepare_confirmation

    notes = ["The editor is asked once, at most three times; what it costs is not known here."] if editor else []
    if not confirm:
        for note in notes:
            say(note)
        return load_run(run)
    prepared = prepare_confirmation(ConfirmJob(run=run, overrides=flags.overrides()))
    flags.consent(prepared.forecast, notes)
    return prepared.reopened.run


def _make_revision(loaded: Run, run: Path, editor: str | None) -> Revision:
    import anyio

    from skillsv.pipeline import refine_by, refine_mechanically
    from skillsv.pipeline.run import recorded_settings
    from skillsv.rollout import RunFolder

    if editor is None:
        return refine_mechanically(loaded)
    return anyio.run(refine_by, editor, loaded, RunFolder(run), recorded_settings(loaded), Path.cwd())


def _write_revision(loaded: Run, run: Path, editor: str | None, output: Path, *, force: bool) -> Revision:
    """Write the new skill and a patch beside it. A folder that cannot be written ends it before the editor is paid."""
    from skillsv.pipeline import original_path
    from skillsv.rendering.output import check_patch, new_folder, write_patch
    from skillsv.report.edits import patch_lines
    from skillsv.sandbox.workspace import write_tree

    original = original_path(loaded)
    with new_folder(output, skill=original, force=force) as new:
        check_patch(output, force=force)
        revision = _make_revision(loaded, run, editor)
        write_tree(revision.after, new)
    text = "".join(patch_lines(revision.before.contents, revision.after.contents))
    patch = write_patch(output, text, force=force)
    say(f"Wrote {output} and {patch}.")
    return revision


def _confirm_revision(run: Path, skill: Path, flags: SpendingFlags, level: float, drop: float | None) -> Proof:
    from skillsv.api.shorten import level_as_share, run_confirmation
    from skillsv.confirmation.gate import DEFAULT_MAX_DROP
    from skillsv.pipeline import ConfirmJob, prepare_confirmation

    job = ConfirmJob(
        run=run,
        overrides=flags.overrides(),
        skill=skill,
        level=level_as_share(level),
        max_drop=DEFAULT_MAX_DROP if drop is None else drop,
    )
    prepared = prepare_confirmation(job)
    return flags.spend(lambda listener, stop: run_confirmation(prepared, listener, stop))


def _lines(revision: Revision, proof: Proof | None) -> Iterator[str]:
    from skillsv.pipeline.proof_text import certainty_line
    from skillsv.report.sentences import proof_sentence

    yield from (f"{gone} says what {stays} says: merged." for gone, stays in revision.merged)
    if revision.tries > 1:
        yield f"The editor was asked {revision.tries} times."
    before, after = revision.tokens_before, revision.tokens_after
    yield f"{count(after)} of {count(before)} tokens stay ({percent(after / before if before else 1)})."
    if proof is not None:
        yield proof_sentence(proof.result.confirmation)
        yield certainty_line(proof.result)
        yield from (f"Note: {note}" for note in proof.notes)


def _table(revision: Revision, proof: Proof | None) -> dict[str, Any]:
    return {
        "schema": "skillsv.refined/1",
        "tokens_before": revision.tokens_before,
        "tokens_after": revision.tokens_after,
        "tries": revision.tries,
        "merged": [list(pair) for pair in revision.merged],
        "removed": list(revision.removed),
        "confirmation": None if proof is None else proof.to_dict(),
    }
