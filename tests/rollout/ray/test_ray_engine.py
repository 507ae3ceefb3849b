"""The Ray engine on three nodes: the same records as the local engine, also when workers and nodes die."""

import json
import os
import pickle
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
from cluster_world import chain_policies, log_lines, logging_factory, run_locally, runner_on, started
from worlds import ToyAgent, render, tasks

from skillsv.errors import SettingsError, Unavailable
from skillsv.model.coalition import RenderedFile
from skillsv.model.events import RolloutFinished
from skillsv.model.rollout import FailureKind, Request, Rollout, RolloutKey
from skillsv.model.task import Task
from skillsv.rollout import Job, Ledger
from skillsv.rollout.pending import SUSPECT_LOSSES
from skillsv.rollout.ray.cluster_options import ClusterOptions
from skillsv.rollout.ray.engine import RayEngine
from skillsv.rollout.ray.job_exchange import NumberedAnswer
from skillsv.rollout.ray.transfer import INLINE_BYTES, Packer
from skillsv.rollout.ray.worker_pool import NodeInfo, PooledWorker
from skillsv.rollout.scheduler import FORGIVEN_LOSSES

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]

CHAINS = 12


def toy_engine(cluster, log: Path, seconds: float = 0.0, **options) -> RayEngine:
    return RayEngine(
        logging_factory(log, seconds), ToyAgent.fingerprint, ClusterOptions(address=cluster.address, **options)
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
    await until(lambda: len(engine.pool.workers) >= count)


def test_records_equal_the_local_engines_and_nodes_fetch_objects_once(cluster, tmp_path):
    async def go():
        expected = await run_locally(tmp_path / "here.sqlite", chains=CHAINS)
        engine = toy_engine(cluster, tmp_path / "log", 0.02)
        with Ledger.open(tmp_path / "there.sqlite") as ledger:
            async with engine:
                await all_nodes(engine, 3)
                assert engine.slots == 6
                records = await runner_on(engine, ledger, jobs=6).run_policies(chain_policies(CHAINS))
                fetched = [await worker.actor.fetched.remote() for worker in engine.pool.workers.values()]
        assert records == expected
        assert set(started(tmp_path / "log").values()) == {1}
        assert len({line.process for line in log_lines(tmp_path / "log")}) == 3
        assert len(fetched) == 3
        for counts in fetched:
            assert set(counts.values()) == {1}

    anyio.run(go)


def test_files_arrive_unchanged_and_only_named_variables_are_sent(cluster, tmp_path, monkeypatch):
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
            cluster_world.reporting, "reporting/1", ClusterOptions(address=cluster.address, forward_env=("TOY_KEY",))
        )
        async with engine:
            rollout = await engine.run(job(files=(large,), task=task))
            return rollout, f"{ray._private.state.actors()} {ray.timeline()} {ray.nodes()}"

    rollout, described = anyio.run(go)
    assert "NodeWorker" in described
    assert key not in described
    assert rollout.failure is None
    assert json.loads(rollout.answer) == {
        "key": "[TOY_KEY]",  # the agent had the value, and the engine on the node redacted it
        "other": None,
        "files": {"data.txt": "one", "bin/run.sh": "#!/bin/sh\n"},
        "run": {"data.txt": False, "bin/run.sh": True},
        "skill": {"SKILL.md": 1, "large.txt": INLINE_BYTES + 1},
    }
    session = Path(cluster.head_node.get_session_dir_path())
    logs = {path: path.read_bytes() for path in session.rglob("*") if path.is_file()}
    assert any(b"TOY_KEY is [TOY_KEY]" in text for text in logs.values()), "what the agent printed is there, redacted"
    assert [path for path, text in logs.items() if key.encode() in text] == []
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert key not in processes


class Disturbance:
    """During a run, kills worker processes, and removes a node and adds another."""

    def __init__(self, cluster, log: Path, ledger: Path, engine: RayEngine) -> None:
        self.cluster, self.log, self.ledger, self.engine = cluster, log, ledger, engine
        self.saved_before: list[set[str]] = []  # what the ledger held at each kill
        self.started_before: list[int] = []
        self.kills = 0

    def record(self) -> None:
        self.saved_before.append(saved(self.ledger))
        self.started_before.append(len(log_lines(self.log)))

    async def kill_workers(self, every: float) -> None:
        while True:
            await anyio.sleep(every)
            workers = list(self.engine.pool.workers.values())
            running = [line.process for line in log_lines(self.log)[-8:] if not is_dead(line.process)]
            if len(workers) > 1 and running:
                self.record()
                os.kill(running[-1], signal.SIGKILL)
                self.kills += 1

    async def replace_node(self, after: int) -> None:
        await until(lambda: len(log_lines(self.log)) >= after, 120)
        removed = self.cluster.worker_nodes and max(self.cluster.worker_nodes, key=lambda node: node.node_id)
        self.record()
        self.cluster.remove_node(removed, allow_graceful=False)
        self.cluster.add_node(num_cpus=2)


def test_after_a_killed_worker_only_its_pending_rollouts_run_again(cluster, tmp_path):
    log, path = tmp_path / "log", tmp_path / "there.sqlite"
    failed = []

    def on_event(event):
        if isinstance(event, RolloutFinished) and event.failure is not None:
            failed.append(event)

    async def go():
        expected = await run_locally(tmp_path / "here.sqlite", chains=CHAINS)
        engine = toy_engine(cluster, log, 0.25)
        with Ledger.open(path) as ledger:
            async with engine, anyio.create_task_group() as group:
                await all_nodes(engine, 3)
                disturbance = Disturbance(cluster, log, path, engine)
                group.start_soon(disturbance.kill_workers, 3.0)
                group.start_soon(disturbance.replace_node, 100)
                records = await runner_on(engine, ledger, jobs=6, on_event=on_event).run_policies(
                    chain_policies(CHAINS)
                )
                group.cancel_scope.cancel()
        return expected, records, disturbance

    expected, records, disturbance = anyio.run(go)
    assert records == expected
    assert failed == []
    assert disturbance.kills >= 2
    assert len(disturbance.saved_before) == disturbance.kills + 1, "a node was lost, too"
    times = started(log)
    assert set(times) == saved(path)
    repeated = sum(times.values()) - len(times)
    assert 0 < repeated <= 2 * len(disturbance.saved_before), "a kill costs at most the pending rollouts of its node"
    lines = log_lines(log)
    for held, before in zip(disturbance.saved_before, disturbance.started_before, strict=True):
        later = {line.key for line in lines[before:] if line.what == "begin"}
        assert not later & held, "a saved rollout never runs again"


def test_a_node_that_hangs_is_given_up_and_its_rollouts_run_elsewhere(cluster, tmp_path):
    log = tmp_path / "log"
    node = cluster.add_node(num_cpus=1, resources={"sick": 1})

    async def go():
        engine = toy_engine(cluster, log, 3600.0, resources={"sick": 1}, node_wait=10.0)
        stopped = []
        async with engine, anyio.create_task_group() as group:
            results = []

            async def run():
                results.append(await engine.run(job()))

            group.start_soon(run)
            await until(lambda: started(log))
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


def test_a_worker_that_hangs_is_stopped(cluster, tmp_path):
    log = tmp_path / "log"

    async def go():
        engine = toy_engine(cluster, log, 3600.0, hang_seconds=1.0)
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
    await until(lambda: started(log))
    os.kill(log_lines(log)[0].process, signal.SIGSTOP)


def is_dead(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except FileNotFoundError:
        return True


SLEEP = "86399.25"
"""Seconds of a sleep that no other program on this machine uses."""


def sleepers() -> list[int]:
    """The processes of agents that still run."""
    processes = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in processes.splitlines() if line.rstrip().endswith(f"sleep {SLEEP}")]


@pytest.fixture
def sleeping_engine(cluster, tmp_path):
    """An engine whose agent starts a process in another group: killing the program alone would not end it."""
    script = tmp_path / "sleep.sh"
    script.write_text(f"#!/bin/sh\nsetsid sleep {SLEEP} &\nsleep {SLEEP}\n")
    script.chmod(0o755)
    factory = partial(cluster_world.shell, str(script), tmp_path)
    agent, _ = factory()
    return RayEngine(factory, agent.fingerprint, ClusterOptions(address=cluster.address))


def test_cancelling_stops_the_agents_on_all_nodes_before_it_returns(sleeping_engine):
    async def go():
        async with sleeping_engine as engine:
            await all_nodes(engine, 3)
            async with anyio.create_task_group() as group:
                for replicate in range(6):
                    group.start_soon(engine.run, job(replicate=replicate))
                await until(lambda: len(sleepers()) >= 12)
                group.cancel_scope.cancel()
            left = sleepers()
            workers = len(engine.pool.workers)
        return left, workers

    assert anyio.run(go) == ([], 3)


def test_the_agents_of_a_killed_worker_end(sleeping_engine):
    async def go():
        async with sleeping_engine as engine, anyio.create_task_group() as group:
            group.start_soon(engine.run, job())
            await until(lambda: len(sleepers()) == 2)
            busy = next(worker for worker in engine.pool.workers.values() if worker.running)
            os.kill(await busy.actor.process.remote(), signal.SIGKILL)
            await until(lambda: not sleepers())

    anyio.run(go)


def test_an_agent_that_a_node_cannot_create_is_a_settings_error(cluster):
    notes = []

    async def go(factory, fingerprint):
        async with RayEngine(factory, fingerprint, ClusterOptions(address=cluster.address), note=notes.append):
            pass

    with pytest.raises(SettingsError, match="TOY_KEY is not set"):
        anyio.run(go, cluster_world.failing_factory, "any")
    with pytest.raises(SettingsError, match="another one"):
        anyio.run(go, cluster_world.reporting, "reporting/2")
    assert all("is left out" in note for note in notes)


def test_only_nodes_with_the_resources_are_used(cluster, tmp_path):
    node = cluster.add_node(num_cpus=1, resources={"box": 3})

    async def go():
        async with toy_engine(cluster, tmp_path / "log", resources={"box": 1}, slots_per_node=8) as engine:
            return engine.slots, [worker.node.id for worker in engine.pool.workers.values()]

    assert anyio.run(go) == (3, [node.node_id])
    cluster.remove_node(node)


def test_a_rollout_that_kills_its_worker_runs_alone(cluster, tmp_path):
    node, log = cluster.add_node(num_cpus=1, resources={"box": 4}), tmp_path / "log"

    def all_tasks():
        asked = [Request(coalition=frozenset({"m"}), operator="delete", task=f"t{index}") for index in range(4)]
        answers = yield tuple(asked)
        return [answers[request] is not None for request in asked]

    async def go():
        options = ClusterOptions(address=cluster.address, resources={"box": 1}, slots_per_node=4)
        engine = RayEngine(partial(cluster_world.self_killing, log), ToyAgent.fingerprint, options)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            async with engine:
                runner = runner_on(engine, ledger, jobs=4, attempts=1)
                return await runner.run_policies([all_tasks()])

    assert anyio.run(go) == [[False, True, True, True]]
    cluster.remove_node(node)
    times = {key.rpartition(" ")[2]: count for key, count in started(log).items()}
    assert times.pop("digest-0") == FORGIVEN_LOSSES + 1
    assert max(times.values()) <= SUSPECT_LOSSES + 1


def test_a_worker_that_forgot_what_it_fetched_is_sent_all_of_it(tmp_path):
    store, sent = [], []
    large = RenderedFile(path="large.txt", data=b"x" * (INLINE_BYTES + 1), digest="large")

    class ForgetfulActor:
        """Keeps nothing of what it fetched: a job that was shortened has to be sent again."""

        @property
        def exchange(self):
            return self

        async def remote(self, batch):
            (item,) = batch
            sent.append([part.content.ref is not None for part in (item.job.skill, item.job.task)])
            answer = Rollout(key=item.job.key, task_id="t0", score=1.0) if sent[-1] == [True, True] else None
            return [NumberedAnswer(number=item.number, data=pickle.dumps(answer))]

    async def go():
        engine = RayEngine(logging_factory(tmp_path, 0.0), ToyAgent.fingerprint)
        engine._packer = Packer(lambda value: store.append(value) or len(store))
        node = NodeInfo(id="n", name="n", resources={})
        worker = PooledWorker(node=node, actor=ForgetfulActor(), slots=1)
        engine.pool.workers[node.id] = worker
        return [(await engine.run(job(files=(large,)))).score for _ in range(2)]

    assert anyio.run(go) == [1.0, 1.0]
    assert sent == [[True, True], [False, False], [True, True]]


def test_one_engine_runs_the_rollouts_of_several_agents(cluster, tmp_path):
    def job_of(agent, replicate):
        one = job(replicate=replicate)
        return replace(one, key=replace(one.key, agent=agent))

    async def go():
        engine = RayEngine(
            logging_factory(tmp_path / "log"),
            ToyAgent.fingerprint,
            ClusterOptions(address=cluster.address),
            others={"reporting/1": cluster_world.reporting},
        )
        async with engine:
            return [await engine.run(job_of(agent, 0)) for agent in (ToyAgent.fingerprint, "reporting/1")]

    toy, reporting = anyio.run(go)
    assert [rollout.failure for rollout in (toy, reporting)] == [None, None]
    assert "skill" in json.loads(reporting.answer)
    assert len(log_lines(tmp_path / "log")) == 2, "only the toy agent's rollout is in its log"
