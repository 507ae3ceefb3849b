"""Where the cluster is, and how much of each node a run may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillsv.model.protocols import Agent, Verifier

Recipe = Callable[[], tuple[Agent, Verifier]]
"""Makes agent and verifier on a node. It is pickled: a module's function, or a `partial` of one over plain data."""

LOCAL = "local"
"""The address that starts a cluster on this machine, for as long as the engine is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How a cluster is used.

    `address` is HOST:PORT of the cluster's head, `auto` for the one this machine belongs to, or `local` to start one.
    A node takes `slots_per_node` rollouts at once (None: as many as it has CPUs), fewer where its `resources` do not
    reach: they are what one rollout takes, such as {"GPU": 1}, and are reserved. A node without them is not used.
    `forward_env` names the environment variables that reach the nodes; no others do. For `patience` seconds a run waits
    for a node when there is none. A node that has not been heard of `late` seconds after a rollout's own time limit has
    hung. `jobs` is how many the run starts at once, to say so where the cluster has room for more.
    """

    address: str = LOCAL
    slots_per_node: int | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    forward_env: tuple[str, ...] = ()
    patience: float = 60.0
    late: float = 30.0
    jobs: int | None = None

    def slots_of(self, total: Mapping[str, float]) -> int:
        """How many rollouts a node with these resources takes at once; 0 where it is not to be used."""
        processors = int(total.get("CPU", 0))
        if not processors and not self.resources:
            return 0  # a machine that only looks on, such as the driver's own
        wanted = processors if self.slots_per_node is None else self.slots_per_node
        reach = (int(total.get(name, 0) / amount + 1e-9) for name, amount in self.resources.items())
        return min((wanted, *reach))
