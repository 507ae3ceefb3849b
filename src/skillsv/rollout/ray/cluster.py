"""The only calls to Ray besides the engine: joining or starting a cluster, its nodes, and actors pinned to a node."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import ray
import ray._private.worker as ray_worker
from ray._private import ray_constants
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skillsv.errors import SettingsError, SkillSVError, Unavailable
from skillsv.rollout.ray.cluster_options import LOCAL, ClusterOptions
from skillsv.rollout.ray.worker import NodeWorker, WorkerSetup
from skillsv.rollout.ray.worker_pool import NodeInfo
from skillsv.sandbox.user_function import FunctionTimeout, call_function, describe

SPARE_CALLS = 64
"""Calls beside the rollouts that a worker accepts: those that are being cancelled, and questions of the driver."""

CHECK_SECONDS = 5.0
"""Seconds within which the head of a cluster must answer the first check."""

JOIN_SECONDS = 30.0
"""Seconds within which Ray must join the cluster."""

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The first bytes of an HTTP/2 connection (with empty settings); the head of a cluster answers with its settings."""

SETTINGS_FRAME = 4
"""The type of an HTTP/2 frame with settings."""

_RAY_VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",  # send no usage statistics
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # leave the devices visible, without a warning
}
"""Environment variables that Ray reads, unless the user has set them."""

_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
"""Environment variables that a cluster started here inherits."""

_INHERITED_PREFIXES = ("RAY_", "PYTHON", "LC_", "CUDA_", "NVIDIA_", "OMP_", "OPENBLAS_")
"""Beginnings of the names of further variables that it inherits."""

_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
"""Arguments of `ray.init` that keep its output away from the user."""


class RayCluster:
    """A cluster that this process has joined. Ray retries and restarts nothing: the scheduler does that."""

    def __init__(self, options: ClusterOptions, setup: Callable[[], WorkerSetup]) -> None:
        self._options = options
        self._setup = setup

    def nodes(self) -> list[NodeInfo]:
        """The nodes that are alive."""
        try:
            nodes = ray.nodes()  # type: ignore[no-untyped-call]
        except (RayError, OSError, RuntimeError) as error:
            raise Unavailable(f"the cluster's head does not answer: {describe(error)}.") from error
        return [
            NodeInfo(id=node["NodeID"], name=node["NodeManagerAddress"], resources=node["Resources"])
            for node in nodes
            if node["Alive"]
        ]

    async def start_worker(self, node: NodeInfo, slots: int) -> Any:
        """Start the actor of a node. It waits there for the resources that it reserves."""
        reserved = {name: amount * slots for name, amount in self._options.resources.items()}
        return await self._start(node, slots, reserved)

    async def start_single_worker(self, node: NodeInfo) -> Any:
        """Start an actor for one rollout, on resources that the node's own worker has reserved."""
        return await self._start(node, 1, {})

    async def _start(self, node: NodeInfo, slots: int, reserved: dict[str, float]) -> Any:
        processors = {"num_cpus": reserved.pop("CPU", 0), "num_gpus": reserved.pop("GPU", 0)}
        actor_class = ray.remote(NodeWorker).options(
            **processors,
            resources=reserved,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=slots + SPARE_CALLS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node.id, soft=False),
        )
        actor: Any = actor_class.remote()
        opened = False
        try:
            error: SkillSVError | None = await actor.open.remote(self._setup())
            if error is not None:
                raise error
            opened = True
        except RayError:
            return None
        finally:
            if not opened:
                self.stop_worker(actor)
        return actor

    def stop_worker(self, actor: Any) -> None:
        """Kill the actor; its orphan reaper ends the programs that it ran."""
        with contextlib.suppress(RayError):
            ray.kill(actor, no_restart=True)


async def connect(options: ClusterOptions) -> None:
    """Join the cluster at the address, or start one here. Raises Unavailable if no cluster answers."""
    if ray.is_initialized():
        raise SettingsError("this process has joined a Ray cluster already.", hint="Call ray.shutdown() first.")
    os.environ.update({name: os.environ.get(name, value) for name, value in _RAY_VARIABLES.items()})
    _silence_ray()
    if options.address == LOCAL:
        # In this thread: the system kills the started processes when the thread that started them ends.
        with _without_keys(), _on_loopback(), _no_warnings():
            ray.init(address="local", include_dashboard=False, _node_ip_address="127.0.0.1", **_QUIET)
        return
    await _check_head(options.address)
    join = partial(ray.init, address=options.address, **_QUIET)
    try:
        with _no_warnings():
            await call_function(join, (), JOIN_SECONDS)
    except FunctionTimeout:
        raise _no_answer(options.address, f"nothing for {JOIN_SECONDS:g} s") from None
    except (OSError, RuntimeError, ValueError, AssertionError, RayError) as error:
        raise _no_answer(options.address, describe(error)) from error


def disconnect() -> None:
    """Leave the cluster; one that was started here ends."""
    ray.shutdown()


async def _check_head(address: str) -> None:
    """Raise Unavailable if no head of a cluster answers at the address: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon:
        return  # `auto`: Ray finds the address
    if not host or not port.isdigit():
        raise SettingsError(f"`{address}` is not an address.", hint="Write --engine ray:HOST:PORT, or ray:auto.")
    try:
        with anyio.fail_after(CHECK_SECONDS):
            reply = await _first_reply(host.strip("[]"), int(port))
    except TimeoutError:
        raise _no_answer(address, f"nothing for {CHECK_SECONDS:g} s") from None
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        raise _no_answer(address, "the server there closed the connection") from None
    except (OSError, ValueError, OverflowError) as error:
        raise _no_answer(address, describe(error)) from error
    if reply is not None and reply[3:4] != bytes((SETTINGS_FRAME,)):
        raise _no_answer(address, "another kind of server answers there")


async def _first_reply(host: str, port: int) -> bytes | None:
    """The first bytes of the server's reply; None if Ray uses TLS, where only the connection is checked."""
    async with await anyio.connect_tcp(host, port) as stream:
        if os.environ.get("RAY_USE_TLS", "0").lower() in {"1", "true"}:
            return None
        await stream.send(HTTP2_PREFACE)
        return await stream.receive()


def _no_answer(address: str, why: str) -> Unavailable:
    return Unavailable(
        f"no Ray cluster answers at {address}: {why[:300]}.",
        hint="Look with `ray status`, or leave the address out to start one here. This machine must be a node of it.",
    )


def _silence_ray() -> None:
    """Keep Ray from printing messages of the cluster on stdout, where results are written; no option does it."""
    if hasattr(ray_worker, "print_to_stdstream"):
        ray_worker.print_to_stdstream = lambda *_data, **_options: None
    logging.getLogger("ray").setLevel(logging.ERROR)


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Hide the warnings of Ray's start, which are for its developers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Make Ray listen on 127.0.0.1 only: everyone who reaches its ports can run programs.

    Ray replaces a loopback address that it is given, except on systems where it supports no cluster of several machines
    (macOS, Windows). This switches that exception on.
    """
    original = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = original


@contextlib.contextmanager
def _without_keys() -> Iterator[None]:
    """Remove the user's keys from the environment while Ray starts its processes: they inherit it."""
    original = dict(os.environ)
    inherited = {
        name: value for name, value in original.items() if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)
    }
    os.environ.clear()
    os.environ.update(inherited)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(original)
