"""Benchmarks: skills and tasks whose answers are known, or public ones fetched on request."""
