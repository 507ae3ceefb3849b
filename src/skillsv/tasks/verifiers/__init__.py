"""Verifiers: each gives an answer a score in [0, 1], or fails and says so. A failure is never a zero."""

from skillsv.tasks.verifiers.make import make_verifier

__all__ = ["make_verifier"]
