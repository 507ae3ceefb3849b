"""The user's configuration folder, and the list of files that the user trusts.

A file that comes with a skill cannot run code, spend money or give consent until the user trusts it. The list stores
the digest of each file: after a change, the file is untrusted again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from skillsv.errors import OutputError, SettingsError

TRUSTED_FILE = "trusted.json"
"""The list of trusted files, in the configuration folder."""

SKILL_FILE = "SKILL.md"
"""A folder that contains this file is a skill."""


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/skillsv`, else `~/.config/skillsv`. A relative XDG_CONFIG_HOME is ignored, as XDG requires."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".config") / "skillsv"


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
    except (OSError, msgspec.DecodeError) as error:
        hint = "Repair the file, or remove it and trust your files again."
        raise SettingsError(
            f"the list of trusted files cannot be read: {error}.", where=str(path), hint=hint
        ) from error
