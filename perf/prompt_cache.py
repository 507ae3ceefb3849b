"""How much of the input a provider's prompt cache serves with 16 slots, by a server that counts repeated prefixes.

`python -m perf prompt_cache`. The server and the run are those of the test.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

TEST = Path(__file__).resolve().parents[1] / "tests" / "rollout" / "test_cached_prompts.py"


def figures() -> list[tuple[str, float, str]]:
    spec = importlib.util.spec_from_file_location("cached_prompts", TEST)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    os.environ["OPENAI_API_KEY"] = "none"  # the server on 127.0.0.1 asks for no key
    with tempfile.TemporaryDirectory() as name:
        possible, many = module.measure(Path(name))
    return [
        ("cached input, one slot: what is possible", possible, "of the input"),
        ("cached input, 16 slots", many, "of the input"),
        ("cached input, 16 slots", many / possible, "of what is possible (bar: 0.8)"),
    ]
