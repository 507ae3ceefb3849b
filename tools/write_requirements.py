"""Write `requirements.txt`: what `make` installs first, with the SHA-256 of every wheel.

    python tools/write_requirements.py            # needs pip, a package index, and the packages in this environment
    python tools/write_requirements.py --check    # no index: does it agree with constraints.txt and pyproject.toml?

It holds the build requirements, the dependencies and the extras `test` and `check`, in the versions of constraints.txt,
with wheels for CPython 3.11 to 3.14 on Linux (x86_64, aarch64) and macOS (arm64). pip checks the hashes of all packages
of a command or of none, and an editable package has no hash. Therefore these are installed first, with
`--require-hashes`, and skillsv itself after them.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements.txt"
CONSTRAINTS = ROOT / "constraints.txt"

OLDEST_PYTHON = "3.11"
"""The version of Python for which conditions of requirements are read: older versions need more packages."""

WHEEL = re.compile(
    r"-(py3|py2\.py3|cp3\d+|cp31[1-4])-(none|abi3|cp31[1-4])"
    r"-(any|.*manylinux.*_(x86_64|aarch64)|macosx_.*_(arm64|universal2))\.whl$"
)
"""The end of the names of wheels that are listed."""

EXTRAS = ("test", "check")
"""The extras that `make test` and `make check` install."""

BUILD = ("editables>=0.5",)
"""What the build of an editable package needs besides the build requirements of pyproject.toml."""

HEADER = "# Written by tools/write_requirements.py: the pins of constraints.txt, with the hashes of their wheels.\n"


def direct_requirements() -> list[str]:
    """The requirements that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    named = [*project["build-system"]["requires"], *BUILD, *project["project"]["dependencies"]]
    return [*named, *(requirement for extra in EXTRAS for requirement in extras[extra])]


def pins() -> dict[str, str]:
    """The versions of constraints.txt by the normal form of the name."""
    found = re.findall(r"^([\w.-]+)==(\S+)", CONSTRAINTS.read_text("utf-8"), re.MULTILINE)
    return {normal(name): version for name, version in found}


def normal(name: str) -> str:
    """The normal form of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed() -> list[str]:
    """The names of all packages that the requirements need, by what the installed ones say."""
    from packaging.requirements import Requirement

    conditions = {"python_version": OLDEST_PYTHON, "python_full_version": f"{OLDEST_PYTHON}.0"}
    found: dict[str, set[str]] = {}
    pending = [Requirement(word) for word in direct_requirements()]
    while pending:
        requirement = pending.pop()
        name = normal(requirement.name)
        if name in found and requirement.extras <= found[name]:
            continue
        found[name] = extras = found.get(name, set()) | requirement.extras
        for word in metadata.requires(name) or ():
            other = Requirement(word)
            marker = other.marker
            if marker is None or any(marker.evaluate({**conditions, "extra": extra}) for extra in ("", *extras)):
                pending.append(other)
    return sorted(found)


def wheel_hashes(name: str, version: str) -> list[str]:
    """The hashes of the wheels of one version, as the package index lists them."""
    from pip._internal.index import collector
    from pip._internal.models.index import PyPI
    from pip._internal.network.session import PipSession

    page = collector._get_simple_response(f"{PyPI.simple_url}/{name}/", session=PipSession(retries=3))  # noqa: SLF001
    links = collector.parse_links(collector._make_index_content(page))  # noqa: SLF001
    found = set()
    for link in links:
        distribution = re.match(r"(.+?)-([^-]+)-", link.filename)
        matches = distribution is not None and (normal(distribution[1]), distribution[2]) == (name, version)
        if matches and WHEEL.search(link.filename):
            found.add(link.as_hashes()._allowed["sha256"][0])  # noqa: SLF001
    return sorted(found)


def write() -> None:
    """Ask the index for every package, and write the file."""
    versions, text = pins(), HEADER
    for name in needed():
        hashes = wheel_hashes(name, versions[name])
        if not hashes:
            raise SystemExit(f"There is no wheel of {name} {versions[name]}.")
        text += f"{name}=={versions[name]} \\\n" + " \\\n".join(f"    --hash=sha256:{value}" for value in hashes) + "\n"
    REQUIREMENTS.write_text(text, "utf-8")


def problems() -> list[str]:
    """Where the file disagrees with constraints.txt and pyproject.toml, in sentences."""
    text = REQUIREMENTS.read_text("utf-8")
    entries = re.findall(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE)
    versions = pins()
    wrong = [
        f"{name} is not {version} in constraints.txt." for name, version, _ in entries if versions.get(name) != version
    ]
    named = {normal(re.split(r"[\[<>=!~; ]", word)[0]) for word in direct_requirements()}
    wrong += [f"{name} of pyproject.toml is missing." for name in sorted(named - {name for name, _, _ in entries})]
    if HEADER + "".join(f"{name}=={version} \\\n{rest}" for name, version, rest in entries) != text:
        wrong.append("There are lines that are no pin with hashes.")
    return wrong


def main() -> int:
    """Write the file, or check it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    if not options.parse_args().check:
        write()
    found = problems()
    print("\n".join(found) or "requirements.txt agrees with constraints.txt and pyproject.toml.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
