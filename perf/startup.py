"""How long the program takes to begin, as a multiple of starting Python at all."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

EXAMPLE = Path(__file__).parent.parent / "examples" / "support-desk"


def figures() -> list[tuple[str, float, str]]:
    """Start-up of `--help` and `compile`."""
    nothing = seconds("-c", "pass")
    return [
        ("skillsv --help", seconds("-m", "skillsv", "--help") / nothing, "x python -c pass"),
        ("skillsv compile example", seconds("-m", "skillsv", "compile", str(EXAMPLE)) / nothing, "x python -c pass"),
    ]


def seconds(*arguments: str) -> float:
    """The median of several starts."""
    return median(once(arguments) for _ in range(7))


def once(arguments: tuple[str, ...]) -> float:
    """One start."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begin
