"""Ray's side of the roster: nodes as the head knows them, and workers as actors pinned to a node."""

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
from skillsv.rollout.ray.worker import NodeWorker, Opening
from skillsv.rollout.ray.worker_pool import NodeInfo
from skillsv.sandbox.user_function import OutOfTime, call_function, describe

SPARE_CALLS = 64
"""Calls beside the rollouts that a worker takes: those that are being cancelled, and questions."""


class RayCluster:
    """A cluster that this process has joined. Nothing is retried or restarted by Ray: the runner does that."""

    def __init__(self, options: ClusterOptions, opening: Callable[[], Opening]) -> None:
        self._options = options
        self._opening = opening

    def nodes(self) -> list[NodeInfo]:
        """The nodes that are alive."""
        try:
            found = ray.nodes()  # type: ignore[no-untyped-call]
        except (RayError, OSError, RuntimeError) as error:
            raise Unavailable(f"the cluster's head is gone: {describe(error)}.") from error
        return [
            NodeInfo(id=node["NodeID"], name=node["NodeManagerAddress"], resources=node["Resources"])
            for node in found
            if node["Alive"]
        ]

    async def post(self, node: NodeInfo, slots: int) -> Any:
        """Start the worker of a node. It waits there for the resources it reserves."""
        return await self._start(node, slots, {name: each * slots for name, each in self._options.resources.items()})

    async def lone_worker(self, node: NodeInfo) -> Any:
        """Start a worker for one rollout, on resources that the node's own worker has reserved."""
        return await self._start(node, 1, {})

    async def _start(self, node: NodeInfo, slots: int, reserved: dict[str, float]) -> Any:
        named = {"num_cpus": reserved.pop("CPU", 0), "num_gpus": reserved.pop("GPU", 0)}
        actor = ray.remote(NodeWorker).options(
            **named,
            resources=reserved,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=slots + SPARE_CALLS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node.id, soft=False),
        )
        worker: Any = actor.remote()
        opened = False
        try:
            answer: SkillSVError | None = await worker.open.remote(self._opening())
            if answer is not None:
                raise answer
            opened = True
        except RayError:
            return None
        finally:
            if not opened:
                self.dismiss(worker)
        return worker

    def dismiss(self, worker: Any) -> None:
        """End the worker; its warden ends what it ran."""
        with contextlib.suppress(RayError):
            ray.kill(worker, no_restart=True)


# Joining a cluster, or starting one on this machine; quietly, within a time limit, and without the user's keys.

KNOCK_SECONDS = 5.0
JOIN_SECONDS = 30.0

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a conversation with a cluster's head begins (HTTP/2, no settings); it answers with settings of its own."""

SETTINGS_FRAME = 4

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # reports nothing to anybody
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # leaves the devices visible, without a warning about it
}
_ALWAYS = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
_FAMILIES = ("RAY_", "PYTHON", "LC_", "CUDA_", "NVIDIA_", "OMP_", "OPENBLAS_")


async def connect(options: ClusterOptions) -> None:
    """Join the cluster at the address, or start one here. Raises Unavailable where none answers."""
    if ray.is_initialized():
        raise SettingsError("this process has joined a Ray cluster already.", hint="Call ray.shutdown() first.")
    os.environ.update({name: os.environ.get(name, value) for name, value in _SETTINGS.items()})
    _silence()
    if options.address == LOCAL:
        # In this thread, not another: what it starts is killed by the system when the thread that started it ends.
        with _without_keys(), _on_loopback(), _no_warnings():
            ray.init(address="local", include_dashboard=False, _node_ip_address="127.0.0.1", **_QUIET)
        return
    await _knock(options.address)
    join = partial(ray.init, address=options.address, **_QUIET)
    try:
        with _no_warnings():
            await call_function(join, (), JOIN_SECONDS)
    except OutOfTime:
        raise _no_answer(options.address, f"nothing for {JOIN_SECONDS:g} s") from None
    except (OSError, RuntimeError, ValueError, AssertionError, RayError) as error:
        raise _no_answer(options.address, describe(error)) from error


_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}


def disconnect() -> None:
    """Leave the cluster; one that was started here ends."""
    ray.shutdown()


async def _knock(address: str) -> None:
    """Whether a head answers there: Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon:
        return  # `auto`: Ray knows
    if not host or not port.isdigit():
        raise SettingsError(f"`{address}` is not an address.", hint="Write --engine ray:HOST:PORT, or ray:auto.")
    try:
        with anyio.fail_after(KNOCK_SECONDS):
            answer = await _greeted(host.strip("[]"), int(port))
    except TimeoutError:
        raise _no_answer(address, f"nothing for {KNOCK_SECONDS:g} s") from None
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        raise _no_answer(address, "whoever listens there hung up") from None
    except (OSError, ValueError, OverflowError) as error:
        raise _no_answer(address, describe(error)) from error
    if answer is not None and answer[3:4] != bytes((SETTINGS_FRAME,)):
        raise _no_answer(address, "something else listens there")


async def _greeted(host: str, port: int) -> bytes | None:
    """The first bytes that come back; None where the conversation is encrypted, and only the door can be tried."""
    async with await anyio.connect_tcp(host, port) as stream:
        if os.environ.get("RAY_USE_TLS", "0").lower() in {"1", "true"}:
            return None
        await stream.send(GREETING)
        return await stream.receive()


def _no_answer(address: str, why: str) -> Unavailable:
    return Unavailable(
        f"no Ray cluster answers at {address}: {why[:300]}.",
        hint="Look with `ray status`, or leave the address out to start one here. This machine must be a node of it.",
    )


def _silence() -> None:
    """Ray prints the cluster's messages on stdout, from a thread, whatever it is told; results are written there."""
    if hasattr(ray_worker, "print_to_stdstream"):
        ray_worker.print_to_stdstream = lambda *_data, **_options: None
    logging.getLogger("ray").setLevel(logging.ERROR)


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """What Ray warns about while it starts concerns its own developers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Have Ray listen on 127.0.0.1 alone: whoever reaches its ports can run programs.

    It takes a loopback address that it is given for a mistake, and replaces it. Where it knows that there will be no
    cluster of several machines (macOS, Windows), it stays on the loopback by itself: that is switched on here.
    """
    several = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = several


@contextlib.contextmanager
def _without_keys() -> Iterator[None]:
    """The environment that programs need to start, for as long as Ray starts its own: they inherit it."""
    whole = dict(os.environ)
    kept = {name: value for name, value in whole.items() if name in _ALWAYS or name.startswith(_FAMILIES)}
    os.environ.clear()
    os.environ.update(kept)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(whole)
