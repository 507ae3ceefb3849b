"""The data types that all stages share: skills, coalitions, tasks, rollouts, values, edits; and the protocols.

All types are frozen dataclasses. A stage receives them, returns new ones, and never changes one in place.
"""
