"""The filter of system calls for sandboxed programs: a BPF program that the kernel runs at every system call.

Refused calls reach parts of the kernel that namespaces do not separate (keyrings), or that had many holes (bpf,
userfaultfd, io_uring), or change namespaces, mounts and other processes. They fail with EPERM, so that a program can do
without them. The filter is built for the machine's own architecture; programs for another one are killed, because their
system calls have other numbers.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

_SAME_NUMBER_EVERYWHERE: Mapping[str, int] = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
}
"""Refused system calls that are younger than the common numbering of all architectures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A machine: its audit number, the numbers of refused system calls, and the first number of a second table."""

    audit: int
    refused: Mapping[str, int]
    second_table: int | None = None


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        audit=0xC000003E,
        refused={
            "ptrace": 101,
            "pivot_root": 155,
            "mount": 165,
            "umount2": 166,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "unshare": 272,
            "perf_event_open": 298,
            "setns": 308,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "bpf": 321,
            "userfaultfd": 323,
            **_SAME_NUMBER_EVERYWHERE,
        },
        second_table=0x40000000,  # x32: the same calls under other numbers
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        refused={
            "umount2": 39,
            "mount": 40,
            "pivot_root": 41,
            "unshare": 97,
            "ptrace": 117,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "perf_event_open": 241,
            "setns": 268,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "bpf": 280,
            "userfaultfd": 282,
            **_SAME_NUMBER_EVERYWHERE,
        },
    ),
}
"""Architectures by the name that `uname -m` prints."""

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
"""Instructions of classic BPF: load a word of the call's data, jump, return."""

_NUMBER, _AUDIT = 0, 4
"""Offsets in the data of a call: its number, its architecture."""

_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
"""Results of the filter: run the call, kill the process, fail with the error number in the low bits."""


def build_filter(machine: str) -> bytes | None:
    """The filter for a machine; None if this module does not know its numbers."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        return None
    numbers = sorted(architecture.refused.values())
    program = [(_LOAD, 0, 0, _AUDIT), (_JUMP_EQUAL, 1, 0, architecture.audit), (_RETURN, 0, 0, _KILL)]
    program.append((_LOAD, 0, 0, _NUMBER))
    if architecture.second_table is not None:
        program += [(_JUMP_GREATER_EQUAL, 0, 1, architecture.second_table), (_RETURN, 0, 0, _FAIL | errno.ENOSYS)]
    # Each comparison jumps over those after it and over ALLOW, to the last instruction.
    program += [(_JUMP_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EPERM)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def find_filter_gap() -> str | None:
    """Why system calls are not filtered on this machine, in one sentence; None if they are."""
    machine = platform.machine()
    known = ", ".join(ARCHITECTURES)
    return None if machine in ARCHITECTURES else f"system calls are filtered only on {known}, and not on {machine}."


@contextmanager
def filter_file() -> Iterator[int | None]:
    """The number of an open file that holds the filter of this machine, for one program; None if there is no filter."""
    data = build_filter(platform.machine())
    if data is None:
        yield None
        return
    number = os.memfd_create("skillsv-seccomp")
    try:
        os.write(number, data)
        os.lseek(number, 0, os.SEEK_SET)
        yield number
    finally:
        os.close(number)
