"""The data types that all stages share: skills, coalitions, tasks, rollouts, values, edits; and the protocols.

The dataclasses are frozen: a stage receives them, returns new ones, and never changes one in place.
"""
