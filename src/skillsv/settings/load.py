"""Settings from their sources: defaults, the user's file, `skillsv.toml` beside the skill, flags; the later wins.

A file beside a skill may have come with it from elsewhere. Until the user trusts it (`skillsv trust`), only its free
settings are used.
"""

from __future__ import annotations

import hashlib
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.settings.check_table import CHECK_TABLE, CheckSettings, read_check_table
from skillsv.settings.tree import FLAGS_ONLY, GUARDED, SETTINGS, Settings, convert_settings, with_current_names
from skillsv.settings.values import flag_of, is_number, share_of_points, small_amounts
from skillsv.trust import config_folder, is_trusted, was_trusted

SETTINGS_FILE = "skillsv.toml"

SMALL_BUDGET = 2400
"""Rollouts below which only deletion is measured unless the user names operators: a second one doubles the cost."""

SECOND_OPERATOR = (
    "With this budget only deletion is measured. --operators delete,pad also splits each value into content and "
    "length, for about twice the rollouts."
)
"""The offer of the second operator."""

AMOUNTS = tuple(name for name, info in SETTINGS.items() if info.in_points)
"""The settings that people write in points of a hundred."""

CHAIN_SETTINGS = tuple(name for name, info in SETTINGS.items() if info.selects_chain)
"""The settings of the paper's Algorithm 1. Giving one of them selects the method `chain`."""

AUTO_SETTINGS = tuple(name for name, info in SETTINGS.items() if info.only_auto)
"""The stop rules of the method `auto`: chains end after a fixed number of orders."""


def user_file() -> Path:
    """The user's own settings, for all skills."""
    return config_folder() / SETTINGS_FILE


def load_settings(
    skill: Path | None,
    flags: Mapping[str, Any],
    note: Callable[[str], None] | None = None,
    *,
    guarded: bool = True,
    recorded: Mapping[str, Any] | None = None,
) -> Settings:
    """Defaults, overridden by the user's file, by `skillsv.toml` beside the skill, by the flags that are not None.

    `skill` is None for a skill that is no file: there is nothing beside it.

    A guarded setting in an untrusted file beside the skill raises SettingsError, unless a flag overrides it.
    `guarded=False` leaves such a setting out instead, for commands that use none of them.
    `note` receives the sentences that say which method and operators these settings select. `recorded` are
    the settings of the run that the command continues: its operators hold where no file and no flag names others.
    """
    from_flags = {name: value for name, value in flags.items() if value is not None}
    own = user_file()
    beside = None if skill is None else skill.absolute().parent / SETTINGS_FILE
    from_files = _read_file(own)[0]
    if beside is not None and not (own.is_file() and beside.is_file() and own.samefile(beside)):
        from_files |= _read_beside(beside, from_flags, guarded=guarded)
    refuse_chain_settings_with_auto(from_flags)
    method, sentence = _select_method(from_files, from_flags)
    if sentence is not None and note is not None:
        note(sentence)
    settings = convert_settings({**from_files, **in_shares(from_flags), **method})
    if "operators" not in from_files and "operators" not in from_flags:
        settings = _with_default_operators(settings, recorded or {}, note)
    ignored = [name for name in AUTO_SETTINGS if settings.method == "chain" and getattr(settings, name) is not None]
    if any(name in from_flags for name in ignored):
        raise SettingsError(
            f"the method chain does not use {_flag_names(ignored)}.", hint="Leave it out, or use --method auto."
        )
    if ignored and note is not None:
        note(f"The method chain does not use {_flag_names(ignored)} in {SETTINGS_FILE}.")
    return settings


def _with_default_operators(
    settings: Settings, recorded: Mapping[str, Any], note: Callable[[str], None] | None
) -> Settings:
    """The operators where none were named: those of the run that goes on, or deletion alone for a small budget."""
    if recorded.get("method") == settings.method and recorded.get("operators"):
        return replace(settings, operators=tuple(map(Operator, recorded["operators"])))
    limit = settings.max_rollouts
    if settings.method != "auto" or limit is None or limit >= SMALL_BUDGET:
        return settings
    if note is not None:
        note(SECOND_OPERATOR)
    return replace(settings, operators=(Operator.DELETE,))


def guarded_settings(path: Path) -> tuple[dict[str, Any], str]:
    """The guarded settings of a file as they are written, and the digest of the bytes that were read."""
    table, digest = _read_file(path)
    check, check_digest = read_check_table(path)
    if check_digest != digest:
        raise SettingsError("the file changed while it was read.", where=str(path), hint="Run the command again.")
    return {**{name: value for name, value in table.items() if name in GUARDED}, **check.named()}, digest


def load_check_settings(skill: Path, *, needed: bool) -> CheckSettings:
    """The table `[check]` of the file beside a skill, or else of the user's own file.

    Raises SettingsError for a table in a file that is not trusted, where it is `needed` because no flag says the same.
    """
    for path in (skill.absolute().parent / SETTINGS_FILE, user_file()):
        table, digest = read_check_table(path)
        if not table.named():
            continue
        if path == user_file() or is_trusted(path, digest):
            return table.located(path.parent)
        if needed:
            raise SettingsError(
                "[check] names what is run, and this file is not trusted.",
                where=str(path),
                hint=f"Give --tasks and --agent, or read the file and run: skillsv trust {shlex.quote(str(path))}",
            )
    return CheckSettings()


def _read_beside(path: Path, from_flags: Mapping[str, Any], *, guarded: bool) -> dict[str, Any]:
    """The settings beside a skill, without the guarded ones that a flag overrides."""
    table, digest = _read_file(path)
    names = [name for name in table if name in GUARDED]
    if not names or is_trusted(path, digest):
        return table
    refused = [name for name in names if name not in from_flags]
    if guarded and refused:
        changed = " The file has changed since it was trusted." if was_trusted(path) else ""
        flags = ", ".join(SETTINGS[name].flag for name in refused)
        raise SettingsError(
            f"{flags} may not be set by a file that lies beside a skill and is not trusted.{changed}",
            where=str(path),
            hint=f"Give it as a flag, put it into {user_file()}, or read the file and run: "
            f"skillsv trust {shlex.quote(str(path))}",
        )
    return {name: value for name, value in table.items() if name not in names}


def _read_file(path: Path) -> tuple[dict[str, Any], str]:
    """The settings in a file, checked, and the digest of its bytes; nothing where there is no file."""
    if not path.is_file():
        return {}, ""
    try:
        data = path.read_bytes()
        table = {key.replace("-", "_"): value for key, value in tomllib.loads(data.decode("utf-8")).items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"the settings cannot be read: {error}.", where=str(path)) from error
    for name in FLAGS_ONLY:
        if name in table:
            raise SettingsError(
                f"{SETTINGS[name].flag} is never taken from a file.", where=str(path), hint="Give it as a flag."
            )
        for earlier_name in SETTINGS[name].earlier_names:
            table.pop(earlier_name, None)  # earlier versions allowed it in a file; now it is a flag only
    table.pop(CHECK_TABLE, None)
    table = with_current_names(table)
    refuse_chain_settings_with_auto(table, where=str(path))
    shares = in_shares(table, where=str(path))
    convert_settings(shares, where=str(path))
    return shares, hashlib.sha256(data).hexdigest()


# The method that the settings select.


def refuse_chain_settings_with_auto(table: Mapping[str, Any], *, where: str | None = None) -> None:
    """Raise SettingsError where a setting of `chain` is given together with `method = auto`."""
    names = [name for name in CHAIN_SETTINGS if name in table]
    if names and table.get("method") == "auto":
        raise SettingsError(
            f"--method auto does not use {_flag_names(names)}.",
            where=where,
            hint=f"Leave out the method to use 'chain', or leave out {_flag_names(names)}.",
        )


def _select_method(from_files: Mapping[str, Any], from_flags: Mapping[str, Any]) -> tuple[dict[str, str], str | None]:
    """The method that settings of files and flags select, if they select one, and the sentence that says so."""
    in_flags = [name for name in CHAIN_SETTINGS if name in from_flags]
    in_files = [name for name in CHAIN_SETTINGS if name in from_files]
    if from_flags.get("method") == "auto" and in_files:
        return {}, f"--method auto does not use {_flag_names(in_files)} in {SETTINGS_FILE}."
    if "method" in from_flags or from_files.get("method") == "chain" or not (in_flags or in_files):
        return {}, None
    source = _flag_names(in_flags) if in_flags else f"{_flag_names(in_files)} in {SETTINGS_FILE}"
    return {"method": "chain"}, f"The method is chain (Algorithm 1 of the paper), selected by {source}."


def _flag_names(names: Sequence[str]) -> str:
    return " and ".join(SETTINGS[name].flag for name in names)


# Amounts of score.


def in_shares(table: Mapping[str, Any], *, where: str | None = None) -> dict[str, Any]:
    """Settings as people write them, with the amounts of score as shares: what `Settings` and manifests hold."""
    return {
        name: share_of_points(value, flag_of(name), where=where) if name in AMOUNTS and is_number(value) else value
        for name, value in table.items()
    }


def small_settings(settings: Settings) -> list[str]:
    """The notes of `small_amounts` on settings."""
    return small_amounts({SETTINGS[name].flag: getattr(settings, name) for name in AMOUNTS})
