"""The version of a key: agent fingerprints and task digests have an ending for what earlier versions did not cover.

A rollout is stored under the digest of its rendering, the task's digest, the agent's fingerprint and the replicate. The
rule for task digests and fingerprints:

1. The first part covers what version 1 of the rule covers. It is made in the same way in every version of SkillSV.
2. Inputs that only version 2 covers are digested into the ending `+2:DIGEST`: values of forwarded variables, relative
   imports, folder and `name=FILE` arguments, helper scripts, `--depends-on`, the judge, later versions of our own
   grading code.
3. Without such inputs there is no ending. So a run without them finds everything that earlier versions stored.
4. Where there is an ending, rollouts under the first part alone, or under another ending, stay in the ledger. They are
   taken over only with `--reuse-unchecked`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_ENDING = re.compile(r"\+2:[0-9a-f]{32}\Z")
"""The ending of a fingerprint or digest that covers inputs of version 2."""


def extend(first_part: str, inputs: Iterable[str]) -> str:
    """The fingerprint or digest that also covers `inputs`; unchanged where there are none. Their order matters."""
    texts = list(inputs)
    if not texts:
        return first_part
    total = hashlib.sha256()
    for text in texts:
        total.update(len(text.encode()).to_bytes(8) + text.encode())
    return f"{first_part}+2:{total.hexdigest()[:32]}"


def first_part(text: str) -> str:
    """The fingerprint or digest without its ending: what version 1 of the rule covers."""
    return _ENDING.sub("", text)


def ending(text: str) -> str:
    """The ending of a fingerprint or digest; empty where it covers no input of version 2."""
    return text[len(first_part(text)) :]


def agrees(text: str, recorded: str) -> bool:
    """Whether a recorded fingerprint or digest is this one, as far as the version that recorded it covers."""
    return text == recorded or (not ending(recorded) and first_part(text) == recorded)
