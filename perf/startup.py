"""How long the program and the library take to begin, beside starting Python at all."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

EXAMPLE = Path(__file__).parent.parent / "examples" / "support-desk"

NOTHING = ("-c", "pass")

IMPORT = ("-c", "import skillsv")

IMPORT_BOUND = 0.030
"""Seconds that `import skillsv` may take over bare Python."""

COMMANDS = {
    "skillsv --help": ("-m", "skillsv", "--help"),
    "skillsv value --help": ("-m", "skillsv", "value", "--help"),
    "skillsv compile example": ("-m", "skillsv", "compile", str(EXAMPLE)),
}

STARTS = 15
"""Starts of each program. They take turns, so that a change of the machine's load meets all of them."""


def figures() -> list[tuple[str, float, str]]:
    """Start-up of the library and of some commands."""
    wall, cpu = measure((NOTHING, IMPORT, *COMMANDS.values()))
    over, cpu_over = (times[IMPORT] - times[NOTHING] for times in (wall, cpu))
    return [
        ("import skillsv over bare Python", 1000 * over, "ms"),
        ("import skillsv over bare Python", over / IMPORT_BOUND, "of 30 ms"),
        ("import skillsv over bare Python, CPU time", 1000 * cpu_over, "ms"),
        *((name, wall[arguments] / wall[NOTHING], "x python -c pass") for name, arguments in COMMANDS.items()),
        *((name, 1000 * (wall[arguments] - wall[NOTHING]), "ms over it") for name, arguments in COMMANDS.items()),
    ]


def measure(programs: tuple[tuple[str, ...], ...]) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    """The median wall time and CPU time of several starts of each program, in seconds."""
    wall: dict[tuple[str, ...], list[float]] = {arguments: [] for arguments in programs}
    cpu: dict[tuple[str, ...], list[float]] = {arguments: [] for arguments in programs}
    for _ in range(STARTS):
        for arguments in programs:
            seconds, cpu_seconds = start_once(arguments)
            wall[arguments].append(seconds)
            cpu[arguments].append(cpu_seconds)
    return tuple({arguments: median(times) for arguments, times in table.items()} for table in (wall, cpu))


def start_once(arguments: tuple[str, ...]) -> tuple[float, float]:
    """Wall time and CPU time of one start."""
    cpu_before, begin = child_cpu(), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begin, child_cpu() - cpu_before


def child_cpu() -> float:
    """CPU seconds of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
