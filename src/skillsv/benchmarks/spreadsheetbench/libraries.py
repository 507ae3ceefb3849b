"""The Python packages that a model's program may import: openpyxl, and pandas where it is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from skillsv.sandbox.bubblewrap import sandbox_python

_PURE = ("openpyxl", "et_xmlfile")
_COMPILED = ("pandas", "numpy", "dateutil", "six", "pytz")
"""pandas and what its releases need; numpy only fits the version of Python that it was built for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Libraries:
    """`names` are told to the model, with `versions` they tell agents apart; `folders` is where they lie."""

    names: tuple[str, ...]
    versions: str
    folders: tuple[Path, ...]


@cache
def libraries(*, sandbox: bool) -> Libraries:
    """What programs may import, inside the sandbox or as the user."""
    pandas = find_spec("pandas") is not None and (not sandbox or _same_python())
    names = ("openpyxl", "pandas") if pandas else ("openpyxl",)
    folders = [folder for module in (*_PURE, *(_COMPILED if pandas else ())) for folder in _folders(module)]
    return Libraries(names=names, versions=",".join(f"{name}=={version(name)}" for name in names), folders=(*folders,))


def _same_python() -> bool:
    python = sandbox_python()
    if python is None:
        return False
    question = "import sys; print(sys.implementation.cache_tag)"
    said = subprocess.run([python, "-c", question], capture_output=True, check=False)  # noqa: S603 - our own words
    return said.stdout.decode().strip() == sys.implementation.cache_tag


def _folders(module: str) -> Iterator[Path]:
    """A package's folder or a module's file, and the folder of compiled libraries that may lie beside it."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return
    place = Path(spec.origin)
    place = place.parent if spec.submodule_search_locations is not None else place
    yield place
    compiled = place.with_name(f"{place.name}.libs")
    if compiled.is_dir():
        yield compiled
