"""How a setting is declared: what a field of `Settings` says besides its name, type and range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, cast

from skillsv.settings.values import flag_of

T = TypeVar("T")

SettingGroup = Literal["estimator", "compiler", "agent", "matrix", "budget"]
"""The panel of `--help` that lists a setting."""

Trust = Literal["free", "guarded", "flags only"]
"""Which files may hold a setting.

- free: every file. The setting runs nothing, and the forecast shows its cost before anyone agrees to it.
- guarded: the user's own file, and files that the user has trusted. The setting names what runs and what is sent there,
  spends beyond the forecast, or counts as consent.
- flags only: no file. The setting sends keys and rollouts elsewhere, opens the sandbox, chooses where files are written
  or shows the answers.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInfo:
    """The declaration of one setting."""

    name: str = ""
    """Its name in Python and in manifests; `declared` fills it in."""
    default: Any
    group: SettingGroup
    trust: Trust
    help: str
    """One sentence. `{default}` stands for the default."""
    decides_result: bool = True
    """Whether another value makes another run. Other settings decide only how fast, and how far, a run gets."""
    in_points: bool = False
    """Whether people write it in points of a hundred. `Settings` and manifests hold a share in [0, 1]."""
    selects_chain: bool = False
    """Whether giving it selects the method `chain`, the paper's Algorithm 1."""
    only_auto: bool = False
    """Whether only the method `auto` uses it."""
    other_flag: str = ""
    """Its flag, where that is not the name with dashes."""
    short: str = ""
    """A short flag, such as `-k`."""
    off: str = ""
    """The flag that says no, for a setting that is true or false."""
    read: Callable[[str, str], Any] | None = None
    """Converts a text to the value, where a plain number or word is not enough. Its arguments: text, name."""
    read_item: Callable[[str, str], Any] | None = None
    """Converts one text of a flag that may be repeated. Its arguments: text, name."""
    check: Callable[[Any, str | None], None] | None = None
    """Raises SettingsError for a value of the right type that cannot be used. Its arguments: value, file."""
    earlier_names: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Names in manifests of earlier versions, each with the function that converts its value."""
    earlier_behaviour: Any = None
    """What earlier versions did, for a setting that decides the result and that their manifests do not have; else None.

    The identity of a run then has the setting only where it differs from the default: the same command resumes a run of
    an earlier version.
    """

    @property
    def flag(self) -> str:
        """The long flag."""
        return self.other_flag or flag_of(self.name)

    @property
    def key(self) -> str:
        """The key in `skillsv.toml`."""
        return self.name.replace("_", "-")

    @property
    def help_text(self) -> str:
        """The help sentence, with the default in its place."""
        return self.help.replace("{default}", self.default_text)

    @property
    def default_text(self) -> str:
        """The default as a person writes it; empty where there is none."""
        if self.default is None or self.default == {}:
            return ""
        if self.default is False:
            return self.off
        if isinstance(self.default, tuple):
            return ",".join(self.default)
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


def estimator(default: T, trust: Trust, help: str, **more: Any) -> T:  # noqa: A002 - as in SettingInfo
    """Declare a setting of the estimator. `more` are fields of SettingInfo."""
    return _declare(default, group="estimator", trust=trust, help=help, **more)


def compiler(default: T, trust: Trust, help: str, **more: Any) -> T:  # noqa: A002 - as in SettingInfo
    """Declare a setting of the compiler. `more` are fields of SettingInfo."""
    return _declare(default, group="compiler", trust=trust, help=help, **more)


def agent(default: T, trust: Trust, help: str, **more: Any) -> T:  # noqa: A002 - as in SettingInfo
    """Declare a setting of the agent or the grading. `more` are fields of SettingInfo."""
    return _declare(default, group="agent", trust=trust, help=help, **more)


def matrix(default: T, trust: Trust, help: str, **more: Any) -> T:  # noqa: A002 - as in SettingInfo
    """Declare a setting of several agents: it decides no single run. `more` are fields of SettingInfo."""
    return _declare(default, group="matrix", trust=trust, help=help, decides_result=False, **more)


def budget(default: T, trust: Trust, help: str, **more: Any) -> T:  # noqa: A002 - as in SettingInfo
    """Declare a setting of budget or speed: it does not decide the result. `more` are fields of SettingInfo."""
    return _declare(default, group="budget", trust=trust, help=help, decides_result=False, **more)


def declared(tree: type) -> dict[str, SettingInfo]:
    """The declarations of a class of settings, by name, in its order."""
    return {item.name: item.metadata["info"](item.name) for item in fields(tree)}


def _declare(default: T, **declaration: Any) -> T:
    """The dataclass field. Its declared type is that of the default, as for `dataclasses.field`."""
    metadata = {"info": lambda name: SettingInfo(name=name, default=default, **declaration)}
    if isinstance(default, dict):
        return cast("T", field(default_factory=default.copy, metadata=metadata))
    return field(default=default, metadata=metadata)
