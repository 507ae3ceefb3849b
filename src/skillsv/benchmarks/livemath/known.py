"""Agents that need no model: the right label, nothing at all, always the first choice."""

from __future__ import annotations

from skillsv.benchmarks.scripted import Scripted


def reference() -> Scripted:
    """Knows the right label."""
    return Scripted(fingerprint="livemath-reference/1", answer=lambda _, task: tagged(task.target))


def noop() -> Scripted:
    """Says nothing."""
    return Scripted(fingerprint="livemath-noop/1", answer=lambda _, __: "")


def always_a() -> Scripted:
    """Takes the first choice, whatever it is: what chance is worth here."""
    return Scripted(fingerprint="livemath-always-a/1", answer=lambda _, __: tagged("A"))


def tagged(label: str) -> str:
    """A label as the protocol wants it."""
    return f"<answer>{label}</answer>"
