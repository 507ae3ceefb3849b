"""Plays `shrink` on games with known values: proven tokens, wrong proofs, the forecast of the power."""
