"""`skillsv render`: writes one partial skill, as an agent would read it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from skillsv.cli.flags import CompileFlags, Json, given
from skillsv.cli.printing import deliver, json_text, print_lines, say, styled_patch
from skillsv.errors import OutputError, RolloutError, SettingsError
from skillsv.model.coalition import Operator, Rendering
from skillsv.settings import DEFAULTS

if TYPE_CHECKING:
    from skillsv.api.skill import Skill


def render(
    skill: Annotated[Path, Parameter(help="A skill folder, or one Markdown file.")],
    /,
    *,
    keep: Annotated[str | None, Parameter(help="Units to keep: ID,ID or 'all'; '' is the bare agent.")] = None,
    drop: Annotated[str | None, Parameter(help="Units to leave out, with all that needs them: ID,ID.")] = None,
    operator: Annotated[Operator, Parameter(help="What becomes of absent units.")] = Operator.DELETE,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Write the skill to this folder.")] = None,
    force: Annotated[bool, Parameter(negative=(), help="Replace an earlier output of skillsv, if unchanged.")] = False,
    diff: Annotated[bool, Parameter(negative=(), help="Show the difference to the original.")] = False,
    tokenizer: Annotated[str, Parameter(help="Vocabulary that counts tokens: o200k or cl100k.")] = DEFAULTS.tokenizer,
    filler: Annotated[str, Parameter(help="Filler of --operator pad: blank, dots or sentences.")] = DEFAULTS.filler,
    json: Json = False,
    flags: CompileFlags | None = None,
) -> int:
    """skillsv render my-skill --drop setup/bullet-1a2b3c --operator pad --diff

    Write one partial skill exactly as an agent would read it: survivors byte for byte, the rest deleted or replaced by
    filler of the same token count. Without -o, --diff or --json the main file's text is printed.
    """
    from skillsv.api.skill import compile as compile_skill
    from skillsv.api.skill import render as render_skill

    if (keep is None) == (drop is None):
        raise SettingsError("Say which units to keep or which to drop.", hint="Give --keep ID,ID or --drop ID,ID.")
    compiled = compile_skill(skill, **given(flags))
    kept = "all" if keep is None or keep == "all" else _names(keep)
    rendering = render_skill(
        compiled, keep=kept, drop=_names(drop or ""), operator=operator, tokenizer=tokenizer, filler=filler
    )
    if output is not None:
        _write(rendering, output, skill, force=force)
    if json:
        deliver(json_text(_as_json(rendering, compiled, tokenizer)), None)
    elif diff:
        original = render_skill(compiled, keep="all")
        print_lines(styled_patch(original.contents, rendering.contents))
    elif output is None:
        _print_text(rendering)
    _print_notes(rendering, output)
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _write(rendering: Rendering, output: Path, skill: Path, *, force: bool) -> None:
    from skillsv.rendering.output import new_folder
    from skillsv.sandbox.workspace import write_tree

    with new_folder(output, skill=skill, force=force) as folder:
        try:
            write_tree(rendering, folder)
        except RolloutError as error:
            raise OutputError(error.what, where=str(output)) from error


def _as_json(rendering: Rendering, skill: Skill, tokenizer: str) -> dict[str, Any]:
    from skillsv.rendering import token_counter

    return {
        "schema": "skillsv.rendering/1",
        "skill": rendering.skill_name,
        "operator": rendering.operator.value,
        "kept": [unit.id for unit in skill.units if unit.id in rendering.coalition],
        "digest": rendering.digest,
        "tokens": rendering.tokens,
        "tokens_original": skill.count_tokens(tokenizer),
        "tokenizer": token_counter(tokenizer).name,
        "flags": list(rendering.flags),
        "files": [
            {"path": file.path, "size": None if file.data is None else len(file.data), "executable": file.executable}
            for file in rendering.files
        ],
        "text": rendering.text,
    }


def _print_text(rendering: Rendering) -> None:
    """Print the main file: byte for byte into a pipe or file, escaped on a terminal."""
    data = rendering.contents.get(rendering.main, b"")
    if sys.stdout.isatty():
        from skillsv.report.escape import escape_text

        deliver(escape_text(rendering.text), None)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _print_notes(rendering: Rendering, output: Path | None) -> None:
    if rendering.empty:
        say("This is the bare agent: no skill at all.")
    for flag in rendering.flags:
        say(f"Note: {_flag_sentence(flag)}")
    if output is not None:
        say(f"Wrote {len(rendering.files)} file(s) to {output}.")


def _flag_sentence(flag: str) -> str:
    kind, _, about = flag.partition(":")
    words = {
        "changed-kind": f"without its neighbours, Markdown reads {about} as something else.",
        "deleted-instead": f"{about} cannot be padded and was deleted.",
        "padding-off-by": f"the padded main file is {about} token(s) away from the original.",
    }
    return words.get(kind, flag)
