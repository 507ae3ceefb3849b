"""Sessions: the engine of the settings, what is opened and closed, and how a job is sent to nodes."""

import importlib.util
import pickle
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from skillsv.agents import make_agent
from skillsv.errors import BudgetReached, SettingsError
from skillsv.pipeline import session as module
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import ValuationJob
from skillsv.pipeline.run import RunOverrides, _apply_overrides
from skillsv.pipeline.session import (
    Session,
    cluster_options,
    make_engine,
    make_on_node,
    open_runner,
    portable_job,
    runner_options,
)
from skillsv.rollout import Ledger, LocalEngine, RunFolder, Stop
from skillsv.settings import Settings, load_settings


@pytest.fixture
def job(tmp_path):
    (tmp_path / "agent.py").write_text("def run(skill, task, replicate):\n    return 'x'\n")
    return ValuationJob(
        skill=Path("skill"),
        tasks=tmp_path / "tasks.jsonl",
        agent="python:agent.py:run",
        settings=Settings(prices="prices.toml"),
        folder=tmp_path,
    )


def make_engine_of(job):
    return make_engine(job, None, None, lambda event: None)


def test_local_runs_in_this_process(job):
    assert isinstance(make_engine_of(job), LocalEngine)


def test_without_ray_the_error_names_the_extra(job, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "ray" else find_spec(name))
    with pytest.raises(SettingsError, match=r"skillsv\[ray\]") as raised:
        make_engine_of(replace(job, settings=Settings(engine="ray")))
    assert raised.value.exit_code == 2


def test_a_pickled_job_makes_the_same_agent_on_a_node(job, monkeypatch):
    sent = pickle.loads(pickle.dumps(portable_job(job)))
    monkeypatch.chdir("/")
    agent, verifier = make_on_node(sent, job.folder)
    assert Path.cwd() == job.folder
    assert agent.fingerprint == make_client(make_agent, job.agent, job.settings, job.folder).fingerprint
    assert hasattr(verifier, "score")
    assert Path(sent.settings.prices).is_absolute()
    assert sent.task_source.load_tasks(sent.tasks, None) == ()


def test_an_agent_that_a_node_cannot_make_is_explained(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").unlink()
    with pytest.raises(SettingsError, match="--forward-env"):
        make_on_node(portable_job(job), job.folder)


@pytest.mark.parametrize(
    ("settings", "address", "slots"),
    [
        (Settings(engine="ray", jobs=12), "local", 12),
        (Settings(engine="ray", jobs=12, slots_per_node=3), "local", 3),
        (Settings(engine="ray:h:1", jobs=12), "h:1", None),
        (Settings(engine="ray:h:1", slots_per_node=3), "h:1", 3),
        (Settings(engine="ray:auto"), "auto", None),
    ],
)
def test_cluster_address_and_slots_follow_the_settings(settings, address, slots):
    options = cluster_options(settings)
    assert (options.address, options.slots_per_node) == (address, slots)


@pytest.mark.parametrize("name", ["dask", "ray:", "ray: ", "local:x", "", "rayon"])
def test_unknown_engines_are_refused(tmp_path, name):
    with pytest.raises(SettingsError, match="no engine"):
        load_settings(tmp_path / "skill", {"engine": name})


def test_node_resources_are_read_from_text(tmp_path):
    assert load_settings(tmp_path / "s", {"node_resources": "GPU=1, box=0.5"}).node_resources == {"GPU": 1, "box": 0.5}
    for words in ("GPU", "GPU=", "GPU=many", "GPU=0", "GPU=-1"):
        with pytest.raises(SettingsError):
            load_settings(tmp_path / "s", {"node_resources": words})


def test_a_file_beside_the_skill_cannot_choose_the_engine(tmp_path):
    (tmp_path / "skillsv.toml").write_text('engine = "ray:evil:6379"\n')
    with pytest.raises(SettingsError, match="--engine"):
        load_settings(tmp_path / "skill", {})


def test_a_later_command_uses_the_recorded_engine_unless_overridden():
    recorded = Settings(engine="ray:h:1", slots_per_node=3)
    assert _apply_overrides(recorded, RunOverrides()).engine == "ray:h:1"
    assert _apply_overrides(recorded, RunOverrides(engine="local")).engine == "local"


@pytest.mark.parametrize("stop", [None, Stop()])
def test_an_error_in_a_session_is_not_wrapped_and_unlocks_the_ledger(job, stop):
    folder, calls = RunFolder(job.folder / "run"), []
    session = Session(
        job=job,
        agent=make_client(make_agent, job.agent, job.settings, job.folder),
        verifier=None,
        tasks=(),
        render=lambda coalition, operator: None,
        folder=folder,
        options=runner_options(job.settings, "name"),
    )

    async def run():
        async with open_runner(session, lambda event: None, stop, on_locked=lambda: calls.append("locked")):
            calls.append("opened")
            raise BudgetReached("enough")

    with pytest.raises(BudgetReached, match="enough"):
        anyio.run(run)
    assert calls == ["locked", "opened"]
    with Ledger.open(folder.ledger):
        pass
