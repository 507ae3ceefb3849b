"""Files of a Git commit, read without a checkout: no hook, no filter and no configured program of Git runs.

Only the object database is read (`rev-parse`, `merge-base`, `ls-tree`, `cat-file`). The working tree is never compared
by Git, because that would run the filters that its attributes name.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillsv.errors import SettingsError, SkillError

REGULAR = frozenset({"100644", "100755", "100664"})
"""The modes of files. Symbolic links (120000) and submodules (160000) are left out."""

EXECUTABLE = "100755"
"""The mode of a file that may be run."""

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""The first line of a file that Git LFS keeps elsewhere."""

MAX_FILE = 64 * 1024 * 1024
"""Bytes of one file of a commit that is written to disk."""

MAX_TOTAL = 256 * 1024 * 1024
"""Bytes of all files that are written for one folder."""

MAX_FILES = 20_000
"""Files that are written for one folder."""

SAFE_OPTIONS = (
    "--no-replace-objects",
    "--no-optional-locks",
    "--literal-pathspecs",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never"),  # a partial clone would fetch what is missing
)
"""Options of every call: nothing is run, fetched or locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitFile:
    """A file of a commit: its path below the repository, its mode, its object and its size in bytes."""

    path: str
    mode: str
    blob: str
    size: int


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A repository on disk. `root` is the top folder of its working tree."""

    root: Path

    @classmethod
    def containing(cls, folder: Path) -> GitRepository:
        """The repository that contains a folder. Raises SettingsError where there is none."""
        found = _git(folder, "rev-parse", "--show-toplevel")
        if found.returncode:
            raise SettingsError(
                f"this is no Git repository: {_reason(found)}", where=str(folder), hint="Run it inside a clone."
            )
        return cls(Path(os.fsdecode(found.stdout.removesuffix(b"\n"))))

    def commit(self, name: str) -> str:
        """The id of the commit that a name stands for. Raises SettingsError where there is none."""
        found = _git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.returncode or name.startswith("-"):
            raise SettingsError(
                f"there is no commit '{name}' here.",
                hint="Name a branch that was fetched; in GitHub Actions check out with `fetch-depth: 0`.",
            )
        return found.stdout.decode().strip()

    @property
    def is_empty(self) -> bool:
        """Whether there is no commit yet."""
        return _git(self.root, "rev-parse", "--verify", "--quiet", "HEAD").returncode != 0

    def merge_base(self, commit: str) -> str | None:
        """The commit where HEAD branched off; None where the history that is here does not show it."""
        found = _git(self.root, "merge-base", "--end-of-options", commit, "HEAD")
        return None if found.returncode else found.stdout.decode().split()[0]

    def list_files(self, commit: str) -> tuple[GitFile, ...]:
        """All regular files of a commit."""
        found = _git(self.root, "ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit)
        if found.returncode:
            raise SettingsError(f"the commit {commit} cannot be read: {_reason(found)}")
        return tuple(_read_entries(found.stdout))

    def write_files(self, files: Sequence[GitFile], prefix: str, folder: Path) -> None:
        """Write files of a commit below `folder`, which is new; `prefix` is removed from their paths.

        Raises SkillError for a path that leaves the folder, and where they are too many or too large.
        """
        if len(files) > MAX_FILES or sum(file.size for file in files) > MAX_TOTAL:
            raise SkillError("the version of the base is too large to be checked.", where=prefix or ".")
        for file, data in zip(files, self.read(files), strict=True):
            path = folder.joinpath(*safe_parts(file.path.removeprefix(prefix), file.path))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if file.mode == EXECUTABLE else 0o644)

    def read(self, files: Sequence[GitFile]) -> Iterator[bytes]:
        """The bytes of files of a commit."""
        for file in files:
            if file.size > MAX_FILE:
                raise SkillError("this file of the base is too large to be checked.", where=file.path)
        command = ["git", *SAFE_OPTIONS, "cat-file", "--batch"]
        with subprocess.Popen(  # noqa: S603 - fixed words
            command, cwd=self.root, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for file in files:
                process.stdin.write(f"{file.blob}\n".encode())
                process.stdin.flush()
                header = process.stdout.readline().split()
                if len(header) != 3:
                    raise SkillError(
                        f"the object {file.blob} is missing.", where=file.path, hint="Fetch the base branch again."
                    )
                yield process.stdout.read(int(header[2]) + 1)[:-1]
            process.stdin.close()


def blob_id(data: bytes, like: str) -> str:
    """The id that Git gives to these bytes, by the hash function of another id."""
    digest = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def lfs_digest(data: bytes) -> str | None:
    """The SHA-256 of the file that a Git LFS pointer stands for; None for other files."""
    if not data.startswith(LFS_POINTER):
        return None
    for line in data.splitlines():
        if line.startswith(b"oid sha256:"):
            return line.removeprefix(b"oid sha256:").decode("ascii", errors="replace").strip()
    return None


def safe_parts(path: str, where: str) -> tuple[str, ...]:
    """The parts of a path of a commit. Raises SkillError for a path that would leave its folder."""
    parts = tuple(path.split("/"))
    if any(part in {"", ".", ".."} or part.lower() == ".git" or "\0" in part for part in parts):
        raise SkillError("this path of the base leaves its folder.", where=where)
    return parts


def _read_entries(data: bytes) -> Iterator[GitFile]:
    for entry in data.split(b"\0"):
        head, tab, path = entry.partition(b"\t")
        if not tab:
            continue
        mode, kind, blob, size = head.decode().split()
        if kind == "blob" and mode in REGULAR:
            yield GitFile(path=os.fsdecode(path), mode=mode, blob=blob, size=int(size))


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - fixed subcommands
            ["git", *SAFE_OPTIONS, *words],  # noqa: S607 - the user's git
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        if folder.is_dir():
            raise SettingsError("git is not installed.", hint="Install git.") from error
        raise SettingsError("there is no such folder.", where=str(folder)) from error


def _environment() -> dict[str, str]:
    """The user's environment; nothing asks for a password, nothing is paged, nothing is fetched."""
    return {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_PAGER": "cat",
        "LC_ALL": "C",
    }


def _reason(result: subprocess.CompletedProcess[bytes]) -> str:
    lines = os.fsdecode(result.stderr).strip().splitlines()
    return lines[-1].removeprefix("fatal: ") if lines else "git failed."
