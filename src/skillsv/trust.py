"""The user's configuration folder, the list of files that the user trusts, and the salt of this user.

A file that comes with a skill cannot run code, spend money or give consent until the user trusts it. The list stores
the digest of each file: after a change, the file is untrusted again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from skillsv.errors import OutputError, SettingsError

TRUSTED_FILE = "trusted.json"
"""The list of trusted files, in the configuration folder."""

SALT_FILE = "salt"
"""The salt of the user, in the configuration folder."""

SALT_VARIABLE = "SKILLSV_SALT"
"""The environment variable that replaces the salt of the user."""

SALT_CHARS = 64
"""Length of a salt, in hexadecimal digits: 32 random bytes."""

SKILL_FILE = "SKILL.md"
"""A folder that contains this file is a skill."""


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/skillsv`, else `~/.config/skillsv`. A relative XDG_CONFIG_HOME is ignored, as XDG requires."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".config") / "skillsv"


def local_salt() -> bytes:
    """The secret of this user that is mixed into hashes of values; made at the first use (mode 0600).

    `SKILLSV_SALT` replaces it: machines with the same salt give the same fingerprints. Raises SettingsError where it
    can be neither read nor stored.
    """
    given = os.environ.get(SALT_VARIABLE)
    if given:
        return given.encode("utf-8", errors="surrogateescape")
    path = config_folder() / SALT_FILE
    try:
        if not path.exists():
            _write_salt(path)
        salt = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"the salt for values of forwarded variables cannot be stored: {reason}.",
            where=str(path),
            hint=f"Make the folder writable, or set {SALT_VARIABLE} to a random text.",
        ) from error
    if len(salt) < SALT_CHARS:
        raise SettingsError("this salt is incomplete.", where=str(path), hint="Remove the file; a new one is made.")
    return salt


def _write_salt(path: Path) -> None:
    """Store a new salt, unless another process does so first."""
    import secrets  # not above: every `--help` imports this module
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{SALT_FILE}-")  # mkstemp: mode 0600
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_hex(SALT_CHARS // 2).encode())
    with contextlib.suppress(FileExistsError):
        os.link(name, path)
    Path(name).unlink()


def file_digest(path: Path) -> str:
    """The SHA-256 of the file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_trusted(path: Path, digest: str) -> bool:
    """Whether the user trusts this file with exactly this digest."""
    return _read_trusted().get(str(path.resolve())) == digest


def was_trusted(path: Path) -> bool:
    """Whether the user trusts this file with any digest, the present one or an earlier one."""
    return str(path.resolve()) in _read_trusted()


def trust_files(digests: Iterable[tuple[Path, str]]) -> Path:
    """Add files, with the digests of the bytes that the user saw, to the list. Returns its path (mode 0600)."""
    import tempfile  # not above: every `--help` imports this module

    trusted = config_folder() / TRUSTED_FILE
    files = {**_read_trusted(), **{str(path.resolve()): digest for path, digest in digests}}
    data = msgspec.json.format(msgspec.json.encode({"files": files}, order="sorted"), indent=2) + b"\n"
    try:
        trusted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=trusted.parent, prefix=f".{TRUSTED_FILE}-")  # mkstemp: mode 0600
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(trusted)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}.", where=str(trusted)) from error
    return trusted


def skill_folder_of(path: Path) -> Path | None:
    """The outermost folder with a SKILL.md that contains `path`, as written or with links resolved."""
    for full_path in (path.absolute(), path.resolve()):
        folders = [folder for folder in (full_path, *full_path.parents) if (folder / SKILL_FILE).is_file()]
        if folders:
            return folders[-1]
    return None


class _TrustedFiles(msgspec.Struct):
    """The JSON of the list: path to digest."""

    files: dict[str, str]


def _read_trusted() -> dict[str, str]:
    path = config_folder() / TRUSTED_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_TrustedFiles).files
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "Repair the file, or remove it and trust your files again."
        raise SettingsError(
            f"the list of trusted files cannot be read: {error}.", where=str(path), hint=hint
        ) from error
