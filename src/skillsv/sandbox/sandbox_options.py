"""What a sandboxed program sees, and its limits: the same for bubblewrap and for containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillsv.sandbox.folder_quota import SANDBOX_QUOTA
from skillsv.sandbox.process import Limits

WORKSPACE_MOUNT = "/task"
"""Path of the workspace in the sandbox. It is fixed, so that answers do not depend on a random name."""

SANDBOX_LIMITS = Limits(
    seconds=60.0,
    output_bytes=1024 * 1024,
    memory_bytes=2 * 1024**3,
    file_bytes=256 * 1024**2,
    processes=64,
    folder=SANDBOX_QUOTA,
    grace=0.2,
)
"""Limits for programs that a model wrote. Memory is per process. `file_bytes` also limits each scratch folder."""

PACKAGES = "/packages"
"""Path in the sandbox of extra Python packages that the system's Python does not have."""

_MOST_SCRATCH = 1024**3
"""Bytes of a scratch folder, which is in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """What a sandboxed program sees besides the system.

    - `packages`: extra Python packages (folders, or single module files) that it may import.
    - `workspace_mount`: the path of the workspace. Where it is not `/task`, that is a link to it.
    - `folders`: further folders that it may change, by their path in the sandbox. If this process runs as root,
      `nobody` must have access to them and to the folders above them (`give_to_nobody`).
    - `variables`: further environment variables.
    - `network`: whether it may use the network of this machine.
    - `read_only`: files and folders of the user that it may read, at their own paths.
    - `as_user`: it runs with the id of this process also if that is root. Else files in `read_only` could be out of
      reach.
    - `container`: `docker` or `podman`, with `:IMAGE`, to run it there; empty: bubblewrap.
    """

    packages: tuple[Path, ...] = ()
    workspace_mount: str = WORKSPACE_MOUNT
    folders: Mapping[str, Path] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    read_only: tuple[Path, ...] = ()
    as_user: bool = False
    container: str = ""


def scratch_bytes(limits: Limits) -> int:
    """The size of a scratch folder."""
    return min(limits.file_bytes or _MOST_SCRATCH, _MOST_SCRATCH)
