"""A program that gives a command an empty session keyring: `python -I -S keyring_program.py PROGRAM ARGUMENT ...`.

Without it, a sandboxed program would have the keys (of file systems, of Kerberos) that the user's session holds: the
kernel separates keyrings by neither namespaces nor mounts. It imports nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import sys

_KEYCTL = {"x86_64": 250, "aarch64": 219}
"""The number of the system call `keyctl` on each machine."""

_JOIN_SESSION_KEYRING = 1
"""The operation of `keyctl` that replaces the session keyring; without a name, by a new and empty one."""


def join_new_session_keyring() -> None:
    """Replace the session keyring of this process. A kernel that refuses has none to share."""
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(ctypes.c_long(number), ctypes.c_long(_JOIN_SESSION_KEYRING), None)


if __name__ == "__main__":
    join_new_session_keyring()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - our own command
