"""The same run on a Ray cluster: agents and verifiers run on its nodes, the driver alone decides, pays and records.

`engine.RayEngine` is the way in. Ray (the extra `ray`) is imported by `engine`, `cluster` and `connect` alone, so
import them only where a cluster is asked for.
"""
