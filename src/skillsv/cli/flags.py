"""Flags that several commands share. Those of settings are made from `skillsv.settings`: none is written twice.

A flag that is not given leaves the setting as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from cyclopts import Group, Parameter

from skillsv.cli.printing import say
from skillsv.settings import (
    SETTINGS,
    SettingGroup,
    SettingInfo,
    Settings,
    declared,
    load_settings,
    share_of_points,
    small_amounts,
    small_settings,
)

HELP_PANELS: Mapping[SettingGroup, Group] = {
    "compiler": Group("Compiler"),
    "estimator": Group("Estimator"),
    "agent": Group("Agent and tasks"),
    "matrix": Group("Agents"),
    "budget": Group("Budget and speed"),
}
"""The panel of `--help` for each group of settings."""

NO_SANDBOX_WARNING = (
    "skillsv: NO SANDBOX: programs of the model and of Harbor tasks run with your rights, on your files and network."
)

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print the result as JSON.")]


class SettingFlags:
    """Flags of one group of settings, each None where it was not given. `flags_of` adds them to a subclass."""

    infos: ClassVar[Mapping[str, SettingInfo]]

    def given(self) -> dict[str, Any]:
        """The settings that were given, by name."""
        table = {name: getattr(self, name) for name in self.infos}
        return {name: _read_items(self.infos[name], value) for name, value in table.items() if value is not None}


Flags = TypeVar("Flags", bound=SettingFlags)


def flags_of(group: SettingGroup, tree: type[Settings] = Settings) -> Callable[[type[Flags]], type[Flags]]:
    """Class decorator: one flag for each setting of the group, in the order of the tree."""

    def add_flags(flags: type[Flags]) -> type[Flags]:
        types = get_type_hints(tree)
        flags.infos = {name: info for name, info in declared(tree).items() if info.group == group}
        flags.__annotations__ = {
            name: Annotated[_flag_type(info, types[name]), setting_parameter(info)]
            for name, info in flags.infos.items()
        }
        for name in flags.infos:
            setattr(flags, name, None)
        return Parameter(name="*", group=HELP_PANELS[group])(dataclass(frozen=True, kw_only=True)(flags))

    return add_flags


def setting_parameter(setting: SettingInfo | str, help: str | None = None) -> Parameter:  # noqa: A002 - as in cyclopts
    """Names and help of the flag of a setting. A command that uses the setting in another way gives its own help."""
    info = SETTINGS[setting] if isinstance(setting, str) else setting
    negative = (info.off or ()) if isinstance(info.default, bool | tuple) else None
    names = [info.flag, *([info.short] if info.short else [])]
    return Parameter(name=names, negative=negative, help=help or info.help_text)


def _flag_type(info: SettingInfo, setting_type: Any) -> Any:
    """What the command line reads: text where the setting has a reader of its own, else the type of the setting."""
    if info.read_item is not None:
        return tuple[str, ...] | None
    return str | None if info.read is not None else setting_type | None


def _read_items(info: SettingInfo, value: Any) -> Any:
    return value if info.read_item is None else [info.read_item(text, info.name) for text in value]


@flags_of("compiler")
class CompileFlags(SettingFlags):
    """How the skill is cut into units; the same for every command that reads a skill."""


@flags_of("estimator")
class EstimatorFlags(SettingFlags):
    """What is estimated, and how closely."""


@flags_of("agent")
class AgentFlags(SettingFlags):
    """How the agent is run and its answers are graded."""

    def __post_init__(self) -> None:
        if self.given().get("no_sandbox") or self.given().get("sandbox") == "none":
            say(NO_SANDBOX_WARNING)


@flags_of("matrix")
class MatrixFlags(SettingFlags):
    """Which agents are compared."""


@flags_of("budget")
class BudgetFlags(SettingFlags):
    """What may be spent, and how fast."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Where the run is kept, and whether it may begin."""

    run_dir: Annotated[Path | None, Parameter(help="Folder of the run [.skillsv/NAME].")] = None
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Spend without asking.")] = False
    fresh: Annotated[bool, Parameter(negative=(), help="Forget earlier rollouts of this run folder.")] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), help="No progress on stderr.")] = False
    keep_going: Annotated[
        bool, Parameter(negative=(), help="Go on where the first tasks show no difference by the skill.")
    ] = False


def given(*groups: SettingFlags | None) -> dict[str, Any]:
    """All settings that were given on the command line, by name."""
    return {name: value for group in groups if group is not None for name, value in group.given().items()}


def read_settings(skill: Path, flags: Mapping[str, Any]) -> Settings:
    """The settings of a command that values a skill. Notes on stderr say which method they select and what is odd."""
    settings = load_settings(skill, flags, note=say)
    for note in small_settings(settings):
        say(f"Note: {note}")
    return settings


def given_share(points: float | None, flag: str, *, ends: bool = False) -> float | None:
    """The amount of score that a flag gave in points, as a share; a note on stderr where it is very small."""
    share = None if points is None else share_of_points(points, flag, ends=ends)
    for note in small_amounts({flag: share}):
        say(f"Note: {note}")
    return share
