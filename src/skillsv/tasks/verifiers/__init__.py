"""Verifiers: each gives an answer a score in [0, 1], or raises VerifierFailure. A failure is not a score of zero.

`table.py` lists all verifiers and says how to add one. `make.py` builds the verifier of a run from that table.
"""

from skillsv.tasks.verifiers.make import make_verifier

__all__ = ["make_verifier"]
