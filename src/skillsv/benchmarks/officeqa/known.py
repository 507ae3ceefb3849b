"""Agents that need no model: the answer itself, and nothing at all."""

from __future__ import annotations

from skillsv.benchmarks.scripted import Scripted


def reference() -> Scripted:
    """Knows the answer."""
    return Scripted(fingerprint="officeqa-reference/1", answer=lambda _, task: f"<answer>{task.target}</answer>")


def noop() -> Scripted:
    """Answers with nothing."""
    return Scripted(fingerprint="officeqa-noop/1", answer=lambda _, __: "<answer></answer>")
