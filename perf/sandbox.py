"""How long a sandboxed program takes to start, beside the same program started plainly."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from skillsv.sandbox.bubblewrap import SANDBOX_LIMITS, find_sandbox_problem, sandbox_command

_STARTS = 20


def figures() -> list[tuple[str, float, str]]:
    """Starts of `true`: plainly, in the sandbox, and their ratio."""
    if error := find_sandbox_problem():
        return [(f"sandbox: {error}", 0.0, "not measured")]
    with tempfile.TemporaryDirectory(prefix="skillsv-") as folder:
        Path(folder).chmod(0o755)
        plain = _median(["true"])
        inside = _median(sandbox_command(["true"], Path(folder), SANDBOX_LIMITS))
    return [
        ("sandbox: one start", 1000 * inside, "ms"),
        ("sandbox: one start", inside / plain, "times a plain start"),
    ]


def _median(command: list[str]) -> float:
    times = []
    for _ in range(_STARTS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return sorted(times)[_STARTS // 2]


if __name__ == "__main__":
    for name, value, unit in figures():
        print(f"{name}: {value:.3g} {unit}")
