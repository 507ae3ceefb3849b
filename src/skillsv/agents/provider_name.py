"""The provider that an agent asks, by its specification: agents of the same provider share its limits."""

from __future__ import annotations

import os
from collections.abc import Mapping

from skillsv.agents.options import CODING_PROGRAMS

PROGRAM_PROVIDERS: Mapping[str, str] = {"claude-code": "anthropic", "codex": "openai", "gemini": "google"}
"""The provider of coding agents whose models name none; the others take PROVIDER/MODEL."""


def name_provider(spec: str, base_url: str | None) -> str:
    """A name that two agents share if the same service limits them; other programs and functions are on their own.

    `base_url` is the server of the run; a variable such as OPENAI_BASE_URL names one, too.
    """
    scheme, _, rest = spec.partition(":")
    if scheme == "model":
        provider = rest.partition(":")[0].partition("-")[0]
    elif scheme in CODING_PROGRAMS:
        provider = PROGRAM_PROVIDERS.get(scheme) or rest.partition("/")[0]
    else:
        return spec
    server = base_url or os.environ.get(f"{provider.upper()}_BASE_URL")
    return server or provider
