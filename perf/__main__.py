"""Runs every module's `figures()` and prints what it measured."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys

import perf

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program itself does, before numpy is imported


def main(names: list[str]) -> None:
    """Print the figures of the named modules, or of all."""
    known = sorted(module.name for module in pkgutil.iter_modules(perf.__path__) if module.name != "__main__")
    for name in names or known:
        print(f"== {name}", flush=True)
        for what, value, unit in importlib.import_module(f"perf.{name}").figures():
            print(f"{value:>14.3f}  {unit:<34} {what}", flush=True)


main(sys.argv[1:])
