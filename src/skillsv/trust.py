"""The user's own configuration folder, and the files that the user has read and trusted, each with its digest.

A file that comes with a skill may run nothing, spend nothing and agree to nothing until the user has trusted it.
Trust belongs to the bytes: a file that changes is untrusted again.
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
SKILL_FILE = "SKILL.md"


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/skillsv`, else `~/.config/skillsv`. A relative XDG_CONFIG_HOME is ignored, as XDG demands."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".config") / "skillsv"


def file_digest(path: Path) -> str:
    """The SHA-256 of the file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_trusted(path: Path, digest: str) -> bool:
    """Whether the user has trusted this file with exactly these bytes."""
    return _read_trusted().get(str(path.resolve())) == digest


def was_trusted(path: Path) -> bool:
    """Whether the user has trusted this file with some bytes, these or earlier ones."""
    return str(path.resolve()) in _read_trusted()


def trust_files(digests: Iterable[tuple[Path, str]]) -> Path:
    """Record files and the digests of the bytes that the user saw. Returns the file that keeps them (mode 0600)."""
    place = config_folder() / TRUSTED_FILE
    files = {**_read_trusted(), **{str(path.resolve()): digest for path, digest in digests}}
    data = msgspec.json.format(msgspec.json.encode({"files": files}, order="sorted"), indent=2) + b"\n"
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{TRUSTED_FILE}-")  # mkstemp: mode 0600
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(place)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}.", where=str(place)) from error
    return place


def skill_folder_of(path: Path) -> Path | None:
    """The outermost folder with a SKILL.md that holds `path`, as it is written or with links resolved."""
    for form in (path.absolute(), path.resolve()):
        folders = [folder for folder in (form, *form.parents) if (folder / SKILL_FILE).is_file()]
        if folders:
            return folders[-1]
    return None


class _Trusted(msgspec.Struct):
    files: dict[str, str]


def _read_trusted() -> dict[str, str]:
    place = config_folder() / TRUSTED_FILE
    try:
        return msgspec.json.decode(place.read_bytes(), type=_Trusted).files
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, msgspec.DecodeError) as error:
        hint = "Repair the file, or remove it and trust your files again."
        raise SettingsError(
            f"the list of trusted files cannot be read: {error}.", where=str(place), hint=hint
        ) from error
