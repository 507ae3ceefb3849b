"""The settings of a valuation: defaults, the user's file, a `skillsv.toml` beside the skill, flags; the later wins.

A file beside a skill may have come with it. Until the user trusts it (`skillsv trust`), only its free settings count.
"""

from __future__ import annotations

import hashlib
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from skillsv.compile import CompileOptions
from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.trust import config_folder, is_trusted, was_trusted

SETTINGS_FILE = "skillsv.toml"

Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that shapes a valuation. `K`, `b` and `tau` of the paper are `orders`, `window`, `tolerance`.

    All numbers that are amounts of score are shares in [0, 1], here and in manifests. Flags and `skillsv.toml` give
    those of `AMOUNTS` in points of a hundred; `in_shares` converts them.
    """

    orders: Count = 12
    window: Count = 8
    tolerance: Share | None = 0.05
    operators: tuple[Operator, ...] = (Operator.DELETE, Operator.PAD)
    method: Literal["auto", "chain"] = "auto"
    panel_a: int | float | None = None
    panel_b: int | float | None = None
    seed: Annotated[int, Meta(ge=0)] = 42

    granularity: Literal["block", "item", "section"] = "block"
    regions: Literal["atomic", "split"] = "atomic"
    without: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    markers: tuple[tuple[str, str], ...] = ()

    tokenizer: str = "o200k"
    filler: str = "blank"
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    resolution: Positive | None = None

    verifier: str | None = None
    judge: str | None = None
    skill_dir: str | None = None
    forward_env: tuple[str, ...] = ()
    show_target: bool = False
    timeout: Positive = 600.0

    base_url: str | None = None
    deliver: Literal["prompt", "files"] = "prompt"
    tools: Literal["all", "files", "none"] = "all"
    temperature: Annotated[float, Meta(ge=0)] | None = 0.0
    max_output_tokens: Count = 2048
    cut_answers: Literal["fail", "score"] = "fail"
    turns: Count = 16
    stop: tuple[str, ...] = ()
    no_sandbox: bool = False
    prices: str | None = None
    inspect_logs: str | None = None

    jobs: Count = 8
    engine: str = "local"
    slots_per_node: Count | None = None
    node_resources: dict[str, Positive] = field(default_factory=dict)
    max_per_minute: Positive | None = None
    attempts: Count = 5
    max_missing: Share = 0.2
    speculate: Annotated[int, Meta(ge=0)] = 0
    max_rollouts: Count | None = None
    max_tokens: Count | None = None
    max_seconds: Positive | None = None
    budget_usd: Positive | None = None
    until_width: Positive | None = None
    until_resolved: Share | None = None


SETTING_NAMES = tuple(setting.name for setting in fields(Settings))

RESULT_SETTINGS = tuple(
    name
    for name in SETTING_NAMES
    if name
    not in {"jobs", "engine", "attempts", "max_missing", "speculate", "timeout", "prices", "inspect_logs"}
    | {"slots_per_node", "node_resources", "max_per_minute"}
    | {"max_rollouts", "max_tokens", "max_seconds", "budget_usd", "until_width", "until_resolved"}
)
"""The settings that decide what is estimated. The others decide only how fast, and how far, a run gets."""

ADDED_SETTINGS = {"cut_answers": "fail"}
"""Settings of the result that manifests of earlier versions do not have. With this value a manifest names them only for
people, not in its identity: the same command resumes a run of an earlier version."""

BEFORE_ADDED = {"cut_answers": "score"}
"""What earlier versions did where a manifest names the setting nowhere."""


AMOUNTS = ("resolution", "until_width")
"""The settings that people write in points of a hundred. `tolerance` is not among them: it is the paper's tau."""

SMALL_AMOUNT = 0.2
"""Points. An amount below this is more likely a share, such as 0.15 for 15 points, and gets a note."""

FREE = (
    *("orders", "window", "tolerance", "operators", "method", "panel_a", "panel_b", "seed"),
    *("granularity", "regions", "without", "include", "exclude", "markers"),
    *("tokenizer", "filler", "level", "resolution"),
    *("temperature", "stop", "jobs", "until_width", "until_resolved"),
)
"""Read from any file: they run nothing, and what they cost stands in the forecast, before anyone agrees to it."""

FLAGS_ONLY = ("base_url", "no_sandbox", "inspect_logs", "engine", "show_target")
"""Never read from a file: they send keys and rollouts elsewhere, open the sandbox, choose where files are written or
show the answers."""

GUARDED = tuple(name for name in SETTING_NAMES if name not in {*FREE, *FLAGS_ONLY})
"""Read only from files of the user's and from files that the user has trusted: they name what runs and what it is sent,
spend beyond the forecast, or count as consent. A new setting is guarded unless it is listed above."""

CHAIN_SETTINGS = ("orders", "window", "tolerance")
"""The settings of the paper's Algorithm 1. Giving one of them selects the method `chain`."""


def user_file() -> Path:
    """The user's own settings, for all skills."""
    return config_folder() / SETTINGS_FILE


def load_settings(
    skill: Path, flags: Mapping[str, Any], note: Callable[[str], None] | None = None, *, guarded: bool = True
) -> Settings:
    """Defaults, overridden by the user's file, by `skillsv.toml` beside the skill, by the flags that were given.

    A guarded setting in an untrusted file beside the skill raises SettingsError, unless a flag overrides it.
    `guarded=False` leaves such a setting out instead, for commands that use none of them.
    `note` receives the sentences that say which method these settings select.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    own, beside = user_file(), skill.absolute().parent / SETTINGS_FILE
    found = _read_file(own)[0]
    if not (own.is_file() and beside.is_file() and own.samefile(beside)):
        found |= _read_beside(beside, given, guarded=guarded)
    refuse_chain_settings_with_auto(given)
    method, sentence = _select_method(found, given)
    if sentence is not None and note is not None:
        note(sentence)
    return _convert({**found, **in_shares(given), **method}, where=None)


def guarded_settings(path: Path) -> tuple[dict[str, Any], str]:
    """The guarded settings of a file as they stand there, and the digest of the bytes that were read."""
    found, digest = _read_file(path)
    return {name: value for name, value in found.items() if name in GUARDED}, digest


def _read_beside(path: Path, given: Mapping[str, Any], *, guarded: bool) -> dict[str, Any]:
    """The settings beside a skill, without the guarded ones that a flag overrides."""
    found, digest = _read_file(path)
    names = [name for name in found if name in GUARDED]
    if not names or is_trusted(path, digest):
        return found
    wanted = [name for name in names if name not in given]
    if guarded and wanted:
        changed = " The file has changed since it was trusted." if was_trusted(path) else ""
        flags = ", ".join(_flag(name) for name in wanted)
        raise SettingsError(
            f"{flags} may not be set by a file that lies beside a skill and is not trusted.{changed}",
            where=str(path),
            hint=f"Give it as a flag, put it into {user_file()}, or read the file and run: "
            f"skillsv trust {shlex.quote(str(path))}",
        )
    return {name: value for name, value in found.items() if name not in names}


def refuse_chain_settings_with_auto(table: Mapping[str, Any], *, where: str | None = None) -> None:
    """Raise SettingsError where a setting of `chain` is given together with `method = auto`."""
    names = [name for name in CHAIN_SETTINGS if name in table]
    if names and table.get("method") == "auto":
        raise SettingsError(
            f"--method auto does not use {_flag_names(names)}.",
            where=where,
            hint=f"Leave out the method to use 'chain', or leave out {_flag_names(names)}.",
        )


def _select_method(found: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[dict[str, str], str | None]:
    """The method that the settings of a file and the flags select, if they do, and the sentence that says so."""
    flags = [name for name in CHAIN_SETTINGS if name in given]
    in_file = [name for name in CHAIN_SETTINGS if name in found]
    if given.get("method") == "auto" and in_file:
        return {}, f"--method auto does not use {_flag_names(in_file)} in {SETTINGS_FILE}."
    if "method" in given or found.get("method") == "chain" or not (flags or in_file):
        return {}, None
    source = _flag_names(flags) if flags else f"{_flag_names(in_file)} in {SETTINGS_FILE}"
    return {"method": "chain"}, f"The method is chain (Algorithm 1 of the paper), selected by {source}."


def _flag_names(names: Sequence[str]) -> str:
    return " and ".join(f"--{name}" for name in names)


def in_shares(table: Mapping[str, Any], *, where: str | None = None) -> dict[str, Any]:
    """Settings as people write them, with the amounts of score as shares: what `Settings` and manifests hold."""
    return {
        name: share_of_points(value, _flag(name), where=where) if name in AMOUNTS and _is_number(value) else value
        for name, value in table.items()
    }


def share_of_points(points: float, flag: str, *, ends: bool = False, where: str | None = None) -> float:
    """An amount of score in points of a hundred as a share: 2 is 0.02. No other function reads points.

    Raises SettingsError outside of 0 to 100; 0 and 100 themselves are allowed only with `ends`.
    """
    if not (0 <= points <= 100 if ends else 0 < points < 100):
        raise SettingsError(
            f"{flag} {points:g} cannot be meant: it is an amount of score, in points between 0 and 100.",
            where=where,
            hint=f"{flag} 2 is two points of a hundred.",
        )
    return round(points / 100, 12)  # 2.3 / 100 is not the same float as 0.023, which older manifests may hold


def small_amounts(shares: Mapping[str, float | None]) -> list[str]:
    """A note for every flag whose amount, given here as a share, is so small that points were perhaps not meant."""
    given = {flag: 100 * share for flag, share in shares.items() if share is not None}
    return [
        f"{flag} is {points:.4g} points of a hundred; did you mean {100 * points:.4g}?"
        for flag, points in given.items()
        if 0 < points < SMALL_AMOUNT
    ]


def small_settings(settings: Settings) -> list[str]:
    """The notes of `small_amounts` on settings."""
    return small_amounts({_flag(name): getattr(settings, name) for name in AMOUNTS})


def settings_from(table: Mapping[str, Any]) -> Settings:
    """Settings as a manifest recorded them; earlier ones have `hide_target`, the opposite of `show_target`."""
    current = {name: value for name, value in table.items() if name != "hide_target"}
    if "hide_target" in table:
        current.setdefault("show_target", not table["hide_target"])
    return _convert(current, where=None)


def settings_dict(settings: Settings) -> dict[str, Any]:
    """Settings as plain JSON values."""
    table: dict[str, Any] = msgspec.to_builtins(settings)
    return table


def identity_settings(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, as plain values, that make a run this run."""
    as_before = {name for name, value in ADDED_SETTINGS.items() if table[name] == value}
    return {name: table[name] for name in RESULT_SETTINGS if name not in as_before}


def compile_options(settings: Settings) -> CompileOptions:
    """The compiler's part of the settings."""
    standard = CompileOptions()
    return CompileOptions(
        granularity=settings.granularity,
        regions=settings.regions,
        without=frozenset(rule.upper() for rule in settings.without),
        include=settings.include,
        exclude=settings.exclude,
        markers=settings.markers or standard.markers,
    )


def _read_file(path: Path) -> tuple[dict[str, Any], str]:
    """The settings in a file, checked, and the digest of its bytes; none where there is no file."""
    if not path.is_file():
        return {}, ""
    try:
        data = path.read_bytes()
        table = tomllib.loads(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the settings cannot be read: {error}.", where=str(path)) from error
    found = {key.replace("-", "_"): value for key, value in table.items()}
    for name in FLAGS_ONLY:
        if name in found:
            raise SettingsError(
                f"{_flag(name)} is never taken from a file.", where=str(path), hint="Give it as a flag."
            )
    found.pop("hide_target", None)  # of earlier versions; targets are hidden unless the flag --show-target is given
    refuse_chain_settings_with_auto(found, where=str(path))
    found = in_shares(found, where=str(path))
    _convert(found, where=str(path))
    return found, hashlib.sha256(data).hexdigest()


def _convert(table: dict[str, Any], *, where: str | None) -> Settings:
    unknown = sorted(set(table) - set(SETTING_NAMES))
    if unknown:
        known = ", ".join(name.replace("_", "-") for name in SETTING_NAMES)
        raise SettingsError(f"there is no setting '{unknown[0]}'.", where=where, hint=f"The settings are: {known}.")
    plain = {name: _plain(name, value) for name, value in table.items()}
    try:
        settings = msgspec.convert(plain, Settings)
    except msgspec.ValidationError as trouble:
        raise SettingsError(_in_words(str(trouble)), where=where) from trouble
    reserved = [name for name in settings.forward_env if name.startswith("SKILLSV_")]
    if reserved:
        raise SettingsError(
            f"{reserved[0]} cannot be forwarded: it tells an agent which skill and task it has.",
            where=where,
            hint="Leave it out of --forward-env.",
        )
    if settings.operators not in {(Operator.DELETE,), (Operator.DELETE, Operator.PAD)}:
        raise SettingsError(
            f"the operators '{','.join(settings.operators)}' do not make a valuation.",
            where=where,
            hint="Say 'delete' for the net effect, or 'delete,pad' to split it into content and cost.",
        )
    check_engine(settings.engine, where)
    return settings


def check_engine(engine: str, where: str | None = None) -> None:
    """Raises SettingsError where there is no such engine."""
    kind, colon, address = engine.partition(":")
    if (kind, colon) not in {("local", ""), ("ray", ""), ("ray", ":")} or (colon and not address.strip()):
        raise SettingsError(
            f"there is no engine '{engine}'.",
            where=where,
            hint="Say 'local', 'ray' for a cluster on this machine, or 'ray:HOST:PORT' for one that runs.",
        )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _in_words(trouble: str) -> str:
    """The complaint of the reader of settings, with the name that people gave."""
    what, _, place = trouble.replace("`", "").partition(" - at $.")
    name = place.split("[")[0].replace("_", "-")
    choices = " Choose among: delete, pad." if name == "operators" else ""
    return f"--{name} cannot be used: {what[:1].lower()}{what[1:]}.{choices}"


def _plain(name: str, value: Any) -> Any:
    """Accept the words people write: `off` for no tolerance or temperature, comma lists for tuples."""
    if name in {"tolerance", "temperature"} and isinstance(value, str):
        return None if value.strip().lower() in {"off", "none"} else _number(name, value)
    if name in {"panel_a", "panel_b"} and isinstance(value, str):
        return int(value) if value.strip().isdigit() else _number(name, value)
    if name in {"operators", "without", "include", "exclude", "forward_env"} and isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    if name == "node_resources" and isinstance(value, str):
        return dict(_amount(word) for word in value.split(",") if word.strip())
    return value


def _amount(word: str) -> tuple[str, float]:
    resource, _, amount = word.partition("=")
    try:
        return resource.strip(), float(amount)
    except ValueError:
        hint = "Write --node-resources NAME=AMOUNT, such as GPU=1."
        raise SettingsError(f"'{word.strip()}' is not an amount of a resource.", hint=hint) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        example = "such as 0.05, or 'off'" if name == "tolerance" else "of tasks, or a share such as 0.5"
        hint = f"Give a number {example}."
        raise SettingsError(f"'{value}' is not a {name.replace('_', ' ')}.", hint=hint) from None
