"""What the fingerprint of an agent covers besides its settings: files, forwarded values, what the user declares.

`docs/fingerprints.md` has the table of all kinds; `skillsv.model.fingerprint` has the rule of first part and ending.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from skillsv.agents.options import CODING_PROGRAMS, AgentOptions
from skillsv.model.fingerprint import extend
from skillsv.sandbox.covered_files import CoveredFiles, FileWatch, declared_files
from skillsv.sandbox.sources import digest_words
from skillsv.trust import local_salt

NOT_CHECKED: Mapping[str, str] = {
    "command": "packages and programs that the agent uses, files that it opens by itself, services that it calls",
    "python": "installed packages, files that the agent opens by itself, services that it calls",
    "function": "what the function calls, values and files that it refers to, services that it calls",
    "model": "the weights behind the server, and the library that calls it",
    **dict.fromkeys(
        CODING_PROGRAMS,
        "the weights behind the server, keys, and programs that the agent uses",
    ),
    "inspect": "installed packages, files that the task opens by itself, the weights behind the model",
}
"""What no fingerprint covers, by the kind of agent. Planted agents have nothing of the kind."""


@runtime_checkable
class PartlyCovered(Protocol):
    """An agent whose fingerprint leaves out folder arguments that are too large."""

    @property
    def skipped(self) -> tuple[Path, ...]:
        """The folders."""


def not_checked(spec: str, agent: object = None) -> str:
    """What the fingerprint of this agent does not cover, as the end of a sentence; empty where it covers all."""
    known = NOT_CHECKED.get(spec.partition(":")[0], "")
    folders = agent.skipped if isinstance(agent, PartlyCovered) else ()
    return ", ".join([*([known] if known else []), *(f"the large folder {folder}" for folder in folders)])


class AgentInputs:
    """The covered inputs of one agent. `read_code` finds and reads its files; `--agent-version` replaces them.

    `forwarded`: the values of forwarded variables may change its answers.
    """

    def __init__(
        self, options: AgentOptions, read_code: Callable[[], FileWatch] | None = None, *, forwarded: bool = True
    ) -> None:
        self._options = options
        self._forwarded = forwarded
        declared = options.agent_version is not None
        self._code = FileWatch(CoveredFiles()) if read_code is None or declared else read_code()
        self._declared = FileWatch(declared_files(options.depends_on, options.folder))
        self._version_in_ending = declared and read_code is None

    @property
    def skipped(self) -> tuple[Path, ...]:
        """Folder arguments that are too large to be covered."""
        return self._code.covered.skipped

    def digest_code(self, words: list[str], spec: str) -> str:
        """The digest of the settings `words` and the files; with `--agent-version`, of the version instead of files."""
        version = self._options.agent_version
        return digest_words(words if version is None else [*words, "agent version", spec, version], self._code.basic)

    def extend(self, first_part: str) -> str:
        """The fingerprint: its first part, and an ending where there are inputs that the first part does not cover."""
        inputs = [*self._code.further, *self._declared.further]
        if self._version_in_ending:
            inputs.append(f"agent version {self._options.agent_version}")
        if self._forwarded:
            inputs += _hash_values(self._options.forward_env)
        return extend(first_part, inputs)

    def find_change(self) -> Path | None:
        """A covered file that has changed since it was read."""
        return self._code.find_change() or self._declared.find_change()


def _hash_values(names: tuple[str, ...]) -> list[str]:
    """Hashes of the forwarded variables that are set. They may be keys: the salt keeps them from being guessed."""
    values = {name: os.environ[name] for name in sorted(set(names)) if name in os.environ}
    if not values:
        return []
    salt = local_salt()
    return [f"variable {name} {_keyed_hash(salt, name, value)}" for name, value in values.items()]


def _keyed_hash(salt: bytes, name: str, value: str) -> str:
    text = f"{name}\0{value}".encode("utf-8", errors="surrogateescape")
    return hmac.new(salt, text, hashlib.sha256).hexdigest()
