"""Finds an installed coding program: its files, its version, and what of it a sandbox must show."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from skillsv.sandbox.bubblewrap import in_sandbox

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
"""A version number in what a program prints."""

_VERSION_SECONDS = 60
"""How long a program may take to print its version."""

_INTERPRETERS = ("node",)
"""Programs that start others by the first line of a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledProgram:
    """A program on this machine. `path` is its file without links, `manifest` the file that names its version."""

    path: Path
    manifest: Path | None
    version: str

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers; empty where it has none."""
        return version_number(self.version)


def find_installed(executable: str) -> InstalledProgram | None:
    """The program of this name on PATH; None where there is none."""
    found = shutil.which(executable)
    if found is None:
        return None
    path = Path(found).resolve()
    manifest = _package_file(path)
    if manifest is not None:
        return InstalledProgram(path=path, manifest=manifest, version=_package_version(manifest))
    return InstalledProgram(path=path, manifest=None, version=_printed_version(found))


def version_number(text: str) -> tuple[int, ...]:
    """The first version number in a text."""
    match = _VERSION.search(text)
    return () if match is None else tuple(int(part) for part in match.groups(default="0"))


def visible_folders(program: Path, others: tuple[str, ...]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Files and folders that a sandbox must show for a program, and folders to add to its PATH.

    These are the folder with all packages that it was installed with, or its virtual environment, else its file alone;
    and the files of interpreters and `others` outside the system's folders.
    """
    shown: list[Path] = [_root_of(program), *_base_python(_root_of(program))]
    path: list[Path] = []
    for name in (*_INTERPRETERS, *others):
        found = shutil.which(name)
        if found is not None and not in_sandbox(Path(found).resolve()):
            shown.append(Path(found).resolve())
            path.append(Path(found).resolve().parent)
    return tuple(dict.fromkeys(place for place in shown if not in_sandbox(place))), tuple(path)


def _root_of(program: Path) -> Path:
    """The outermost `node_modules` around the program, its virtual environment, or the program itself."""
    packages = [folder for folder in program.parents if folder.name == "node_modules"]
    if packages:
        return packages[-1]
    environment = program.parent.parent
    return environment if (environment / "pyvenv.cfg").is_file() else program


def _base_python(environment: Path) -> list[Path]:
    """The folder of the Python that a virtual environment was made with, where its settings name one."""
    with contextlib.suppress(OSError):
        for line in (environment / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "home":
                return [Path(value.strip()).resolve().parent]
    return []


def _package_file(program: Path) -> Path | None:
    """The package.json of the package that the program belongs to."""
    folders = [folder for folder in program.parents if "node_modules" in folder.parts and folder.name != "node_modules"]
    return next((folder / "package.json" for folder in folders if (folder / "package.json").is_file()), None)


def _package_version(manifest: Path) -> str:
    try:
        return str(json.loads(manifest.read_text(encoding="utf-8")).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _printed_version(program: str) -> str:
    """What `PROGRAM --version` prints."""
    try:
        done = subprocess.run(  # noqa: S603 - the user named this program
            [program, "--version"], capture_output=True, timeout=_VERSION_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    number = version_number(done.stdout.decode("utf-8", errors="replace"))
    return ".".join(map(str, number))
