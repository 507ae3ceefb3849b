"""`skillsv prune`: writes a shorter skill, by the values of a run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from skillsv.cli.flags import Json, given_share
from skillsv.cli.printing import say
from skillsv.errors import OutputError, SettingsError
from skillsv.model.edit import PruneStep
from skillsv.model.format import count, percent, points, with_bounds

if TYPE_CHECKING:
    from skillsv.api.run import Run
    from skillsv.api.shorten import ShorterSkill

BACKUP = "backup"
"""The folder in the run folder that keeps the files which --in-place changed."""


def prune(
    run: Annotated[Path, Parameter(help="The folder of a run.")],
    /,
    *,
    to_tokens: Annotated[int | None, Parameter(help="Prune until so many tokens are left.")] = None,
    share: Annotated[float | None, Parameter(help="Prune until this share of the tokens is gone.")] = None,
    max_drop: Annotated[float | None, Parameter(help="Prune while no more points are lost, by the values.")] = None,
    only: Annotated[
        Literal["harmful", "delete", "expendable", "idle"] | None,
        Parameter(help="Remove only units with this verdict."),
    ] = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write the shorter skill here.")] = None,
    in_place: Annotated[bool, Parameter(negative=(), help="Change the skill itself.")] = False,
    force: Annotated[bool, Parameter(negative=(), help="Replace an earlier output of skillsv, if unchanged.")] = False,
    diff: Annotated[bool, Parameter(negative=(), help="Show what changes.")] = False,
    yes: Annotated[
        bool, Parameter(name=["--yes", "-y"], negative=(), help="Remove more than half of the skill without asking.")
    ] = False,
    json: Json = False,
) -> int:
    """skillsv prune .skillsv/my-skill --max-drop 2 -o my-shorter-skill

    Write a shorter skill: units go in ascending value, each with all that needs it. Without a goal, the units go whose
    verdict is 'delete', 'expendable', 'idle' or 'harmful'. A patch is written beside the folder. Prove it with
    'skillsv confirm'. It refuses an unfinished run, and a path with units that have no value yet. --in-place keeps a
    backup in the run folder.
    Before more than half of the skill goes, it asks; without a terminal it needs --yes. Without -o or --in-place
    nothing is written.
    """
    from skillsv.api.run import load_run
    from skillsv.api.shorten import prune as prune_run
    from skillsv.cli.printing import deliver, json_text

    if only and any(value is not None for value in (to_tokens, share, max_drop)):
        raise SettingsError("--only and a goal ask for two things at once.", hint="Give one of them.")
    if in_place and output is not None:
        raise SettingsError("--in-place and -o ask for two places at once.", hint="Give one of them.")
    given_share(max_drop, "--max-drop", ends=True)
    loaded = load_run(run)
    short = prune_run(loaded, to_tokens=to_tokens, share=share, max_drop=max_drop, only=only)
    if in_place or output is not None:
        _ask_about_large_removal(loaded, short, yes=yes)
    _write(loaded, short, output, in_place=in_place, force=force)
    if diff:
        _show_difference(short)
    summary = _summary(loaded, short)
    deliver(json_text(summary) if json else "\n".join(_lines(loaded, short)) + "\n", None)
    return 0


def _ask_about_large_removal(run: Run, pruned: ShorterSkill, *, yes: bool) -> None:
    """Ask before more than half of the tokens are removed. Raises SettingsError without a yes."""
    from skillsv.cli.consent import Question, agree

    if 2 * pruned.tokens_after >= pruned.tokens_before:
        return
    question = Question(
        unanswered="more than half of the skill would go, and nobody is there to agree to it.",
        unanswered_hint="Add --yes, or prune less. Without -o and --in-place it only shows what would go.",
        declined="nothing was removed.",
    )
    agree(_total_lines(run, pruned), yes=yes, question=question)


def _write(run: Run, pruned: ShorterSkill, output: Path | None, *, in_place: bool, force: bool) -> None:
    from skillsv.pipeline import find_original
    from skillsv.rendering.output import check_patch, write_patch

    if in_place:
        _change_in_place(find_original(run.stored), pruned, run.folder)
    elif output is not None:
        check_patch(output, force=force)
        pruned.write(output, force=force)
        place = write_patch(output, pruned.patch, force=force)
        say(f"Wrote {output} and {place}.")


def _change_in_place(skill: Path, pruned: ShorterSkill, run: Path) -> None:
    """Write the files that changed and remove those that are gone; other files of the folder stay as they are.

    The files as they were are kept in the run folder. Beside the skill a copy might be read as a skill of its own.
    """
    top = skill.parent if skill.is_file() else skill
    old, new = pruned.files_before, pruned.files
    backup = run / BACKUP / pruned.pruned.before.digest[:12]
    try:
        for path in old:
            if new.get(path) != old[path]:
                (backup / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(top / path, backup / path)
        for path in old.keys() - new.keys():
            (top / path).unlink()
        for path, data in new.items():
            if old.get(path) != data:
                temporary = (top / path).with_name(f".{Path(path).name}.new")
                temporary.write_bytes(data)
                shutil.copymode(top / path, temporary)
                temporary.replace(top / path)
    except OSError as error:
        raise OutputError(f"{error.strerror}.", where=str(error.filename or skill)) from error
    say(f"Changed {skill}. The files as they were are in {backup}.")


def _show_difference(pruned: ShorterSkill) -> None:
    from skillsv.cli.printing import print_lines, styled_patch

    print_lines(styled_patch(pruned.files_before, pruned.files))


def _lines(run: Run, pruned: ShorterSkill) -> list[str]:
    if not pruned.steps:
        return ["Nothing to remove: no unit is shown to be worthless or harmful."]
    return [*(_step_line(run, step) for step in pruned.steps), *_total_lines(run, pruned)]


def _total_lines(run: Run, pruned: ShorterSkill) -> list[str]:
    before, after = pruned.tokens_before, pruned.tokens_after
    share = after / before if before else 1.0
    gone = f"{len(pruned.removed)} of {len(run.skill.compiled.execution)} units go"
    change = points(-pruned.predicted_loss)
    return [
        f"{gone}; {count(after)} of {count(before)} tokens stay ({percent(share)}).",
        f"By the values that chose them, the score changes by {change} points.",
        f"Some units look worthless by chance, so expect {with_bounds(pruned.predicted_change)} points.",
        "'skillsv confirm' proves it on tasks not used yet.",
    ]


def _step_line(run: Run, step: PruneStep) -> str:
    verdict = next(unit.verdict for unit in run.valuation.units if unit.id == step.unit)
    others = [unit for unit in step.removed if unit != step.unit]
    along = f" Takes along {', '.join(others)}." if others else ""
    return f"{step.unit} ({verdict.action}): {verdict.reason}{along}"


def _summary(run: Run, pruned: ShorterSkill) -> dict[str, Any]:
    reasons = {unit.id: unit.verdict.reason for unit in run.valuation.units}
    return {
        "schema": "skillsv.pruned/1",
        "skill": run.skill.name,
        "tokens_before": pruned.tokens_before,
        "tokens_after": pruned.tokens_after,
        "predicted": {
            "value": pruned.predicted_change.value,
            "low": pruned.predicted_change.low,
            "high": pruned.predicted_change.high,
        },
        "removed": list(pruned.removed),
        "kept": [unit for unit in run.skill.compiled.execution if unit not in pruned.removed],
        "path": [
            {
                "unit": step.unit,
                "removed": list(step.removed),
                "tokens_left": step.tokens_left,
                "share_removed": step.share_removed,
                "lost_value": step.lost_value,
                "reason": reasons[step.unit],
            }
            for step in pruned.steps
        ],
    }
