"""Attacks on the kernel from inside the sandbox: keys of the user, and system calls that open other doors."""

import ctypes
import errno
import os
import platform
import struct
import tempfile
from pathlib import Path

import anyio
import pytest

from skillsv.sandbox import seccomp
from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS, find_sandbox_problem, run_sandboxed

CALLS = {
    "x86_64": {
        "ptrace": 101, "mount": 165, "umount2": 166, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
        "setns": 308, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    },
    "aarch64": {
        "ptrace": 117, "mount": 40, "umount2": 39, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97,
        "setns": 268, "bpf": 280, "userfaultfd": 282, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
    },
}  # fmt: skip
MACHINE = platform.machine()
SESSION, JOIN, SEARCH, READ = -3, 1, 10, 11


@pytest.fixture
def sandboxed():
    if problem := find_sandbox_problem():
        pytest.skip(problem)
    if MACHINE not in CALLS:
        pytest.skip(f"system calls are not filtered on {MACHINE}")

    def run(code):
        with tempfile.TemporaryDirectory(prefix="skillsv-test-") as name:
            program = ["python3", "-c", code]
            done = anyio.run(lambda: run_sandboxed(program, workspace=Path(name), limits=SANDBOX_LIMITS))
        assert done.code == 0, done.stderr
        return done.stdout.decode().strip()

    return run


@pytest.mark.parametrize("name", CALLS["x86_64"])
def test_dangerous_system_call_is_refused_before_its_arguments_are_read(sandboxed, name):
    """With arguments that make no sense, the kernel itself would give another error for most of them."""
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"result = libc.syscall(*[ctypes.c_long(value) for value in ({CALLS.get(MACHINE, {}).get(name)}, -1, -1, -1, -1, -1)])\n"
        "print(result, ctypes.get_errno())"
    )
    assert sandboxed(code) == f"-1 {errno.EPERM}"


def test_key_of_the_users_session_is_neither_read_nor_listed(sandboxed):
    libc = ctypes.CDLL(None, use_errno=True)
    keyctl, add_key = CALLS[MACHINE]["keyctl"], CALLS[MACHINE]["add_key"]
    libc.syscall(keyctl, JOIN, None)  # a keyring of this test, which ends with it
    payload = b"my-secret"
    added = libc.syscall(add_key, b"user", b"skillsv-test", payload, len(payload), SESSION)
    if added < 0:
        pytest.skip(f"this kernel keeps no keys: {os.strerror(ctypes.get_errno())}")
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        f"key = libc.syscall({keyctl}, {SEARCH}, {SESSION}, b'user', b'skillsv-test', 0)\n"
        "data = ctypes.create_string_buffer(64)\n"
        f"libc.syscall({keyctl}, {READ}, key if key > 0 else {added}, data, 64)\n"
        "print(data.value)\n"
        "try:\n    print(open('/proc/keys').read())\nexcept OSError:\n    print('hidden')\n"
    )
    seen = sandboxed(code)
    assert "my-secret" not in seen
    assert "skillsv-test" not in seen


def test_program_has_a_session_keyring_of_its_own_also_without_the_filter(sandboxed, monkeypatch):
    monkeypatch.setattr(seccomp, "ARCHITECTURES", {})
    libc = ctypes.CDLL(None, use_errno=True)
    keyctl, add_key = CALLS[MACHINE]["keyctl"], CALLS[MACHINE]["add_key"]
    libc.syscall(keyctl, JOIN, None)
    if libc.syscall(add_key, b"user", b"skillsv-test", b"my-secret", 9, SESSION) < 0:
        pytest.skip("this kernel keeps no keys")
    search = f"libc.syscall({keyctl}, {SEARCH}, {SESSION}, b'user', b'skillsv-test', 0)"
    assert sandboxed(f"import ctypes\nlibc = ctypes.CDLL(None)\nprint({search})") == "-1"


def test_calls_of_the_second_table_of_x86_are_refused(sandboxed):
    if MACHINE != "x86_64":
        pytest.skip("only x86_64 has a second table")
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.syscall(0x40000000 + 250, 0, 0, 0, 0, 0), ctypes.get_errno())"
    )
    assert sandboxed(code) == f"-1 {errno.ENOSYS}"


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_filter_refuses_the_same_calls_on_every_machine(machine):
    data = seccomp.build_filter(machine)
    program = list(struct.iter_unpack("=HBBI", data))
    architecture = seccomp.ARCHITECTURES[machine]
    assert architecture.refused.keys() == seccomp.ARCHITECTURES["x86_64"].refused.keys()
    assert CALLS[machine].items() <= architecture.refused.items()

    def result(number, audit=architecture.audit):
        position, word = 0, 0
        while True:
            code, yes, no, value = program[position]
            position += 1
            if code == 0x20:
                word = {0: number, 4: audit}[value]
            elif code == 0x06:
                return value
            else:
                position += yes if (word == value if code == 0x15 else word >= value) else no

    refused = {number for number in range(600) if result(number) != 0x7FFF0000}
    assert refused == set(architecture.refused.values())
    assert {result(number) for number in refused} == {0x00050000 | errno.EPERM}
    assert result(0, audit=0x40000003) == 0x80000000


def test_unknown_machine_is_named_and_the_sandbox_goes_on_without_the_filter(sandboxed, monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert seccomp.build_filter("riscv64") is None
    assert "not on riscv64" in seccomp.find_filter_gap()
    assert sandboxed("print('ran')") == "ran"
