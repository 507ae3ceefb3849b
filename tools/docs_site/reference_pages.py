"""The reference pages that are generated: commands from the parser, settings from their declarations, API, schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import cyclopts

import skillsv
from skillsv.cli.app import COMMANDS, build_app
from skillsv.settings import SETTINGS

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"

GROUPS = {
    "estimator": "What is estimated, and how closely",
    "compiler": "How the skill is cut into units",
    "agent": "The agent, the verifier and their sandbox",
    "budget": "Limits, speed and cost",
    "matrix": "Several agents",
}
"""The groups of settings, in the order of the page."""

NOT_FLAGS = {"--help", "-h", "--version"}


def commands_page() -> str:
    """Every command with its example, what it does, and its flags."""
    lines = ["# Commands", "", "Written from the parser of the program when this site is built.", ""]
    lines += table(("command", "what it does"), ((f"[`{name}`](#{name})", text) for name, _, text in COMMANDS))
    for name, _, _ in COMMANDS:
        lines += ["", f"## {name}", "", *_command(build_app(name)[name], f"skillsv {name}")]
    return "\n".join(lines) + "\n"


def _command(app: cyclopts.App, name: str) -> Iterator[str]:
    example, _, text = (app.help or "").partition("\n")
    yield from ("```text", example.strip(), "```", "", *(escape(line.strip()) for line in text.strip().split("\n")))
    arguments = [argument for argument in app.assemble_argument_collection() if argument.show]
    setting_flags = {info.flag: info for info in SETTINGS.values()}
    own = [argument for argument in arguments if argument.names[0] not in setting_flags]
    if own:
        yield from ("", *table(("argument", "meaning"), ((_names(argument), _help(argument)) for argument in own)))
    taken = {setting_flags[argument.names[0]].group for argument in arguments if argument.names[0] in setting_flags}
    if taken:
        links = ", ".join(f"[{group}](settings.md#{group})" for group in GROUPS if group in taken)
        yield from ("", f"Settings: {links}.")
    for sub in app:
        if sub not in NOT_FLAGS:
            yield from ("", f"### {name.removeprefix('skillsv ')} {sub}", "", *_command(app[sub], f"{name} {sub}"))


def _names(argument: cyclopts.Argument) -> str:
    return ", ".join(f"`{name}`" for name in argument.names)


def _help(argument: cyclopts.Argument) -> str:
    required = " Required." if argument.required and argument.names[0].startswith("-") else ""
    return f"{escape(argument.parameter.help or '')}{required}"


def settings_page() -> str:
    """Every setting, as it is declared in `settings/tree.py`."""
    lines = [
        "# All settings",
        "",
        "Written from `src/skillsv/settings/tree.py` when this site is built. A key stands in `skillsv.toml`; which",
        "files may hold a setting is said in [settings and trust](../settings.md). The default stands in brackets.",
    ]
    for group, title in GROUPS.items():
        rows = (
            (
                f"`{info.flag}`" + (f", `{info.short}`" if info.short else ""),
                f"`{info.key}`" if info.trust != "flags only" else "",
                escape(info.help_text),
                info.trust,
            )
            for info in SETTINGS.values()
            if info.group == group
        )
        lines += ["", f"## {title} {{#{group}}}", "", *table(("flag", "key", "meaning", "files"), rows)]
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """Every public name, with its docstring."""
    lines = [
        "# Python names",
        "",
        "`import skillsv as sv` offers these names. [The guide](../python.md) shows how to use them.",
    ]
    for name in skillsv.__all__:
        home = skillsv._HOMES.get(name, "")  # noqa: SLF001 - the table of public names
        if not home or name == "errors":
            continue
        lines += ["", f"::: {home}.{name}", *_options(heading=f"sv.{name}", toc_label=f"sv.{name}")]
    lines += ["", "::: skillsv.errors", *_options(heading="sv.errors", toc_label="sv.errors")]
    return "\n".join(lines) + "\n"


def _options(**more: str) -> list[str]:
    """Options of one object of the API page."""
    return ["    options:", *(f"      {name}: {value}" for name, value in more.items())]


def schemas_page() -> str:
    """The JSON documents, with their top-level fields."""
    lines = [
        "# JSON documents",
        "",
        "The schemas are generated from the types of the documents and validated in tests.",
    ]
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        main = schema["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        required = set(main.get("required", ()))
        rows = (
            (f"`{name}`", escape(_description(field, schema)), "yes" if name in required else "")
            for name, field in main["properties"].items()
        )
        name = main["properties"]["schema"].get("const") or main["properties"]["schema"]["enum"][0]
        lines += ["", f"## {name}", "", escape(main.get("description", "")), ""]
        lines += [f"[{path.name}](../schema/{path.name})", "", *table(("field", "meaning", "always"), rows)]
    return "\n".join(lines) + "\n"


def _description(field: dict[str, object], schema: dict[str, dict[str, dict[str, str]]]) -> str:
    if "description" in field:
        return str(field["description"])
    reference = str(field.get("$ref", "")).rpartition("/")[2]
    return schema.get("$defs", {}).get(reference, {}).get("description", "")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A Markdown table."""
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows),
    ]


def escape(text: str) -> str:
    """Text of a help sentence as Markdown: what looks like a tag, emphasis or a link stays as it is written."""
    for character in "\\*_<>[]":
        text = text.replace(character, f"&#{ord(character)};")
    return text
