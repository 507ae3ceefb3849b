"""`skillsv render`: writes one partial skill, as an agent would read it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from skillsv.cli.flags import CompileFlags, Json
from skillsv.cli.printing import deliver, json_text, print_lines, styled_patch
from skillsv.errors import OutputError, RolloutError, SettingsError
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.skill import CompiledSkill
from skillsv.rendering import Renderer, token_counter
from skillsv.rendering.renderer import require_known
from skillsv.settings import DEFAULTS


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
    from skillsv.compiler import compile_skill

    compiled = compile_skill(skill, (flags or CompileFlags()).options(skill))
    renderer = Renderer(compiled, counter=token_counter(tokenizer), filler=filler)
    rendering = renderer.render(_coalition(compiled, keep, drop), operator)
    if output is not None:
        _write(rendering, output, skill, force=force)
    if json:
        deliver(json_text(_as_json(rendering, renderer)), None)
    elif diff:
        original = renderer.render(compiled.everything, Operator.DELETE)
        print_lines(styled_patch(original.contents, rendering.contents))
    elif output is None:
        _print_text(rendering)
    _print_notes(rendering, output)
    return 0


def _coalition(compiled: CompiledSkill, keep: str | None, drop: str | None) -> Coalition:
    if (keep is None) == (drop is None):
        raise SettingsError("Say which units to keep or which to drop.", hint="Give --keep ID,ID or --drop ID,ID.")
    if keep == "all":
        return compiled.everything
    names = frozenset(name.strip() for name in (keep or drop or "").split(",") if name.strip())
    if keep is not None:
        return names
    require_known(compiled, names)
    return compiled.everything - compiled.reverse_closure(names)


def _write(rendering: Rendering, output: Path, skill: Path, *, force: bool) -> None:
    from skillsv.rendering.output import new_folder
    from skillsv.sandbox.workspace import write_tree

    with new_folder(output, skill=skill, force=force) as folder:
        try:
            write_tree(rendering, folder)
        except RolloutError as error:
            raise OutputError(error.what, where=str(output)) from error


def _as_json(rendering: Rendering, renderer: Renderer) -> dict[str, Any]:
    return {
        "schema": "skillsv.rendering/1",
        "skill": rendering.skill_name,
        "operator": rendering.operator.value,
        "kept": [unit.id for unit in renderer.compiled.units if unit.id in rendering.coalition],
        "digest": rendering.digest,
        "tokens": renderer.count_tokens(rendering),
        "tokens_original": renderer.total_tokens,
        "tokenizer": renderer.counter.name,
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
        print("This is the bare agent: no skill at all.", file=sys.stderr)
    for flag in rendering.flags:
        print(f"Note: {_flag_sentence(flag)}", file=sys.stderr)
    if output is not None:
        print(f"Wrote {len(rendering.files)} file(s) to {output}.", file=sys.stderr)


def _flag_sentence(flag: str) -> str:
    kind, _, about = flag.partition(":")
    words = {
        "changed-kind": f"without its neighbours, Markdown reads {about} as something else.",
        "deleted-instead": f"{about} cannot be padded and was deleted.",
        "padding-off-by": f"the padded main file is {about} token(s) away from the original.",
    }
    return words.get(kind, flag)
