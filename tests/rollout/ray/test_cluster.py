"""Three nodes: the same values, each parcel once per node, and nothing that dies changes a value or is paid twice."""

import json
import os
import signal
import sqlite3
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

pytest.importorskip("ray", reason="needs the extra `ray`")

import cluster_world
import ray
from cluster_world import begun, log_lines, logging_recipe, run_here, runner_on, walks
from worlds import ToyAgent, render, tasks

from skillsv.errors import SettingsError, Unavailable
from skillsv.model.coalition import RenderedFile
from skillsv.model.events import RolloutFinished
from skillsv.model.rollout import FailureKind, Request, RolloutKey
from skillsv.model.task import Task
from skillsv.rollout import Job, Ledger
from skillsv.rollout.ray.cluster_options import ClusterOptions
from skillsv.rollout.ray.engine import RayEngine
from skillsv.rollout.ray.transfer import INLINE_BYTES
from skillsv.rollout.scheduler import FORGIVEN_LOSSES, SUSPECT_LOSSES

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]

CHAINS = 12


def toy_engine(cluster, log: Path, seconds: float = 0.0, **options) -> RayEngine:
    return RayEngine(
        logging_recipe(log, seconds), ToyAgent.fingerprint, ClusterOptions(address=cluster.address, **options)
    )


def job(*, files=(), task: Task | None = None, timeout: float | None = 60.0, replicate: int = 0) -> Job:
    skill = render(frozenset({"m"}), "delete", frozenset({"m"}))
    skill = replace(skill, files=(*skill.files, *files))
    task = task or tasks(1)["t0"]
    return Job(
        key=RolloutKey(tree=skill.digest, task=task.digest, agent="any", replicate=replicate),
        skill=skill,
        task=task,
        timeout=timeout,
    )


async def until(condition, seconds: float = 30.0) -> None:
    """Wait for something that happens in other processes."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.05)


def saved(path: Path) -> set[str]:
    raw = sqlite3.connect(path)
    try:
        return {f"{tree} {task}" for tree, task in raw.execute("SELECT tree, task FROM rollout")}
    finally:
        raw.close()


async def all_nodes(engine: RayEngine, count: int) -> None:
    await until(lambda: len(engine.roster.posts) >= count)


def test_values_are_those_of_the_local_engine_and_each_parcel_travels_once_to_each_node(cluster, tmp_path):
    async def go():
        expected = await run_here(tmp_path / "here.sqlite", chains=CHAINS)
        engine = toy_engine(cluster, tmp_path / "log", 0.02)
        with Ledger.open(tmp_path / "there.sqlite") as ledger:
            async with engine:
                await all_nodes(engine, 3)
                assert engine.slots == 6
                records = await runner_on(engine, ledger, jobs=6).run_policies(walks(CHAINS))
                fetched = [await post.worker.fetched.remote() for post in engine.roster.posts.values()]
        assert records == expected
        assert set(begun(tmp_path / "log").values()) == {1}
        assert len({line.process for line in log_lines(tmp_path / "log")}) == 3
        assert len(fetched) == 3
        for counts in fetched:
            assert set(counts.values()) == {1}

    anyio.run(go)


def test_files_arrive_as_they_were_and_keys_only_by_name(cluster, tmp_path, monkeypatch):
    """The task's files and a skill's large one arrive whole, and no trace of the key is left in Ray's files."""
    key = "sk-toy-51c1f7a2b9"
    monkeypatch.setenv("TOY_KEY", key)
    monkeypatch.setenv("TOY_OTHER", "not for you")
    (tmp_path / "data.txt").write_text("one")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    task = Task(
        id="t", input="", digest="d", files={"data.txt": tmp_path / "data.txt", "bin/run.sh": tmp_path / "run.sh"}
    )
    large = RenderedFile(path="large.txt", data=b"x" * (INLINE_BYTES + 1), digest="large")

    async def go():
        engine = RayEngine(
            cluster_world.telling, "telling/1", ClusterOptions(address=cluster.address, forward_env=("TOY_KEY",))
        )
        async with engine:
            rollout = await engine.run(job(files=(large,), task=task))
            return rollout, f"{ray._private.state.actors()} {ray.timeline()} {ray.nodes()}"

    rollout, described = anyio.run(go)
    assert "NodeWorker" in described
    assert key not in described
    assert rollout.failure is None
    assert json.loads(rollout.answer) == {
        "key": key,
        "other": None,
        "files": {"data.txt": "one", "bin/run.sh": "#!/bin/sh\n"},
        "run": {"data.txt": False, "bin/run.sh": True},
        "skill": {"SKILL.md": 1, "large.txt": INLINE_BYTES + 1},
    }
    session = Path(cluster.head_node.get_session_dir_path())
    logs = {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    assert any(b"TOY_KEY is [TOY_KEY]" in text for text in logs.values()), "what the agent printed is there, redacted"
    assert [path for path, text in logs.items() if key.encode() in text] == []
    told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert key not in told


class Chaos:
    """Kills a worker process now and then, removes a whole node and adds another, while a run goes on."""

    def __init__(self, cluster, log: Path, ledger: Path, engine: RayEngine) -> None:
        self.cluster, self.log, self.ledger, self.engine = cluster, log, ledger, engine
        self.struck: list[set[str]] = []  # what the ledger held at each blow
        self.begun_before: list[int] = []
        self.kills = 0

    def note(self) -> None:
        self.struck.append(saved(self.ledger))
        self.begun_before.append(len(log_lines(self.log)))

    async def kill_workers(self, every: float) -> None:
        while True:
            await anyio.sleep(every)
            posts = list(self.engine.roster.posts.values())
            running = [line.process for line in log_lines(self.log)[-8:] if not is_dead(line.process)]
            if len(posts) > 1 and running:
                self.note()
                os.kill(running[-1], signal.SIGKILL)
                self.kills += 1

    async def replace_node(self, after: int) -> None:
        await until(lambda: len(log_lines(self.log)) >= after, 120)
        gone = self.cluster.worker_nodes and max(self.cluster.worker_nodes, key=lambda node: node.node_id)
        self.note()
        self.cluster.remove_node(gone, allow_graceful=False)
        self.cluster.add_node(num_cpus=2)


def test_killed_workers_and_a_lost_node_change_no_value_and_only_what_was_in_flight_runs_again(cluster, tmp_path):
    log, path = tmp_path / "log", tmp_path / "there.sqlite"
    failed = []

    def hear(event):
        if isinstance(event, RolloutFinished) and event.failure is not None:
            failed.append(event)

    async def go():
        expected = await run_here(tmp_path / "here.sqlite", chains=CHAINS)
        engine = toy_engine(cluster, log, 0.25)
        with Ledger.open(path) as ledger:
            async with engine, anyio.create_task_group() as disturbing:
                await all_nodes(engine, 3)
                chaos = Chaos(cluster, log, path, engine)
                disturbing.start_soon(chaos.kill_workers, 3.0)
                disturbing.start_soon(chaos.replace_node, 100)
                records = await runner_on(engine, ledger, jobs=6, hear=hear).run_policies(walks(CHAINS))
                disturbing.cancel_scope.cancel()
        return expected, records, chaos

    expected, records, chaos = anyio.run(go)
    assert records == expected
    assert failed == []
    assert chaos.kills >= 2
    assert len(chaos.struck) == chaos.kills + 1, "a node was lost, too"
    times = begun(log)
    assert set(times) == saved(path)
    again = sum(times.values()) - len(times)
    assert 0 < again <= 2 * len(chaos.struck), "a blow costs at most what was in flight on its node"
    lines = log_lines(log)
    for held, before in zip(chaos.struck, chaos.begun_before, strict=True):
        later = {line.key for line in lines[before:] if line.what == "begin"}
        assert not later & held, "what was recorded never ran again"


def test_a_node_that_hangs_is_given_up_and_its_rollouts_run_elsewhere(cluster, tmp_path):
    log = tmp_path / "log"
    node = cluster.add_node(num_cpus=1, resources={"sick": 1})

    async def go():
        engine = toy_engine(cluster, log, 3600.0, resources={"sick": 1}, patience=10.0)
        stopped = []
        async with engine, anyio.create_task_group() as group:
            results = []

            async def run():
                results.append(await engine.run(job()))

            group.start_soon(run)
            await until(lambda: begun(log))
            stopped += [log_lines(log)[0].process, node.all_processes["raylet"][0].process.pid]
            for process in stopped:
                os.kill(process, signal.SIGSTOP)
            await until(lambda: results, 60)
            with pytest.raises(Unavailable, match="no node"):
                await engine.run(job())
        for process in stopped:
            os.kill(process, signal.SIGKILL)
        return results[0]

    rollout = anyio.run(go)
    cluster.remove_node(node, allow_graceful=False)
    assert rollout.failure is not None
    assert rollout.failure.lost
    assert rollout.failure.kind is FailureKind.CONNECTION


def test_a_worker_that_hangs_is_ended(cluster, tmp_path):
    log = tmp_path / "log"

    async def go():
        engine = toy_engine(cluster, log, 3600.0, late=1.0)
        async with engine, anyio.create_task_group() as group:
            group.start_soon(stop_the_first, log)
            rollout = await engine.run(job(timeout=1.0))
        await until(lambda: is_dead(log_lines(log)[0].process))
        return rollout

    rollout = anyio.run(go)
    assert rollout.failure is not None
    assert rollout.failure.kind is FailureKind.TIMEOUT
    assert not rollout.failure.lost


async def stop_the_first(log: Path) -> None:
    await until(lambda: begun(log))
    os.kill(log_lines(log)[0].process, signal.SIGSTOP)


def is_dead(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except FileNotFoundError:
        return True


NAP = "86399.25"
"""Seconds of a sleep that nothing else on this machine sleeps."""


def sleepers() -> list[int]:
    """The processes of agents that still run."""
    told = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in told.splitlines() if line.rstrip().endswith(f"sleep {NAP}")]


@pytest.fixture
def napping(cluster, tmp_path):
    """An engine whose agent leaves its process group: killing the program alone would leave the sleep."""
    script = tmp_path / "nap.sh"
    script.write_text(f"#!/bin/sh\nsetsid sleep {NAP} &\nsleep {NAP}\n")
    script.chmod(0o755)
    recipe = partial(cluster_world.shell, str(script), tmp_path)
    agent, _ = recipe()
    return RayEngine(recipe, agent.fingerprint, ClusterOptions(address=cluster.address))


def test_cancelling_stops_the_agents_on_all_nodes_before_it_returns(napping):
    async def go():
        async with napping as engine:
            await all_nodes(engine, 3)
            async with anyio.create_task_group() as group:
                for replicate in range(6):
                    group.start_soon(engine.run, job(replicate=replicate))
                await until(lambda: len(sleepers()) >= 12)
                group.cancel_scope.cancel()
            left = sleepers()
            posts = len(engine.roster.posts)
        return left, posts

    assert anyio.run(go) == ([], 3)


def test_a_killed_worker_leaves_none_of_its_agents_behind(napping):
    async def go():
        async with napping as engine, anyio.create_task_group() as group:
            group.start_soon(engine.run, job())
            await until(lambda: len(sleepers()) == 2)
            busy = next(post for post in engine.roster.posts.values() if post.running)
            os.kill(await busy.worker.process.remote(), signal.SIGKILL)
            await until(lambda: not sleepers())

    anyio.run(go)


def test_an_agent_that_a_node_cannot_make_is_an_error_of_the_settings(cluster):
    notes = []

    async def go(recipe, fingerprint):
        async with RayEngine(recipe, fingerprint, ClusterOptions(address=cluster.address), note=notes.append):
            pass

    with pytest.raises(SettingsError, match="TOY_KEY is not set"):
        anyio.run(go, cluster_world.unmade, "any")
    with pytest.raises(SettingsError, match="another one"):
        anyio.run(go, cluster_world.telling, "telling/2")
    assert all("is left out" in note for note in notes)


def test_only_nodes_with_the_resources_are_used_and_only_as_far_as_they_reach(cluster, tmp_path):
    node = cluster.add_node(num_cpus=1, resources={"box": 3})

    async def go():
        async with toy_engine(cluster, tmp_path / "log", resources={"box": 1}, slots_per_node=8) as engine:
            return engine.slots, [post.node.id for post in engine.roster.posts.values()]

    assert anyio.run(go) == (3, [node.node_id])
    cluster.remove_node(node)


def test_a_rollout_that_kills_its_worker_is_set_apart_and_its_neighbours_finish(cluster, tmp_path):
    node, log = cluster.add_node(num_cpus=1, resources={"box": 4}), tmp_path / "log"

    def all_tasks():
        asked = [Request(coalition=frozenset({"m"}), operator="delete", task=f"t{index}") for index in range(4)]
        answers = yield tuple(asked)
        return [answers[request] is not None for request in asked]

    async def go():
        options = ClusterOptions(address=cluster.address, resources={"box": 1}, slots_per_node=4)
        engine = RayEngine(partial(cluster_world.poisoned, log), ToyAgent.fingerprint, options)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            async with engine:
                runner = runner_on(engine, ledger, jobs=4, attempts=1)
                return await runner.run_policies([all_tasks()])

    assert anyio.run(go) == [[False, True, True, True]]
    cluster.remove_node(node)
    times = {key.rpartition(" ")[2]: count for key, count in begun(log).items()}
    assert times.pop("digest-0") == FORGIVEN_LOSSES + 1
    assert max(times.values()) <= SUSPECT_LOSSES + 1
