"""The same run on a Ray cluster: agents and verifiers run on its nodes, the driver alone decides, pays and records.

Import it only where a cluster is asked for: it needs the extra `ray`.
"""

from skillsv.rollout.distributed.engine import RayEngine
from skillsv.rollout.distributed.options import ClusterOptions, Recipe

__all__ = ["ClusterOptions", "RayEngine", "Recipe"]
