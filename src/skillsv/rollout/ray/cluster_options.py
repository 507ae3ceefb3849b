"""Settings of a cluster: its address, and how much of each node a run may use. Imports no Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skillsv.model.protocols import Agent, Verifier

AgentFactory = Callable[[], tuple[Agent, Verifier]]
"""Creates agent and verifier on a node. It is pickled: a module's function, or a `partial` of one over plain data."""

LOCAL = "local"
"""The address that starts a cluster on this machine while the engine is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How a run uses a cluster.

    `address` is HOST:PORT of the cluster's head, `auto` for the cluster of this machine, or `local` to start one.
    A node runs `slots_per_node` rollouts at once (None: as many as it has CPUs). `resources` is what one rollout
    reserves, such as {"GPU": 1}: a node runs no more rollouts than its resources allow; one without them is not used.
    `forward_env` names the environment variables that are sent to the nodes; no others are. If there is no node, the
    run waits `node_wait` seconds for one. A worker has hung if it does not answer `hang_seconds` after the time limit
    of a rollout. `jobs` is how many rollouts the run starts at once; a note says if the cluster could run more.
    """

    address: str = LOCAL
    slots_per_node: int | None = None
    resources: Mapping[str, float] = field(default_factory=dict)
    forward_env: tuple[str, ...] = ()
    node_wait: float = 60.0
    hang_seconds: float = 30.0
    jobs: int | None = None

    def slots_of(self, total: Mapping[str, float]) -> int:
        """How many rollouts a node with these resources runs at once; 0 if it is not used."""
        cpus = int(total.get("CPU", 0))
        if not cpus and not self.resources:
            return 0  # a machine without work, such as the driver's own
        wanted = cpus if self.slots_per_node is None else self.slots_per_node
        possible = (int(total.get(name, 0) / amount + 1e-9) for name, amount in self.resources.items())
        return min((wanted, *possible))
