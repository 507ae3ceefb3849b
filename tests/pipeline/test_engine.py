"""Which engine the settings name, and how a job is sent to nodes."""

import importlib.util
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from skillsv.agents import make_agent
from skillsv.errors import SettingsError
from skillsv.pipeline import session as module
from skillsv.pipeline.clients import make_client
from skillsv.pipeline.job import ValuationJob
from skillsv.pipeline.reopen import RunOverrides, _limits
from skillsv.pipeline.session import cluster_options, make_engine, make_on_node, portable
from skillsv.rollout import LocalEngine
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


def engine_of(job):
    return make_engine(job, None, None, lambda event: None)


def test_local_is_the_engine_of_this_process(job):
    assert isinstance(engine_of(job), LocalEngine)


def test_without_ray_the_extra_is_named(job, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "ray" else found(name))
    with pytest.raises(SettingsError, match=r"skillsv\[ray\]") as told:
        engine_of(replace(job, settings=Settings(engine="ray")))
    assert told.value.exit_code == 2


def test_what_is_sent_to_a_node_can_be_pickled_and_makes_the_same_agent_there(job, monkeypatch):
    sent = pickle.loads(pickle.dumps(portable(job)))
    monkeypatch.chdir("/")
    agent, verifier = make_on_node(sent, job.folder)
    assert Path.cwd() == job.folder
    assert agent.fingerprint == make_client(make_agent, job.agent, job.settings, job.folder).fingerprint
    assert hasattr(verifier, "score")
    assert Path(sent.settings.prices).is_absolute()
    assert sent.task_source.load_tasks(sent.tasks, None) == ()


def test_what_a_node_lacks_is_told_with_the_reason(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").unlink()
    with pytest.raises(SettingsError, match="--forward-env"):
        make_on_node(portable(job), job.folder)


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
def test_address_and_slots(settings, address, slots):
    options = cluster_options(settings)
    assert (options.address, options.slots_per_node) == (address, slots)


@pytest.mark.parametrize("name", ["dask", "ray:", "ray: ", "local:x", "", "rayon"])
def test_other_engines_are_refused(tmp_path, name):
    with pytest.raises(SettingsError, match="no engine"):
        load_settings(tmp_path / "skill", {"engine": name})


def test_resources_are_read_as_people_write_them(tmp_path):
    assert load_settings(tmp_path / "s", {"node_resources": "GPU=1, box=0.5"}).node_resources == {"GPU": 1, "box": 0.5}
    for words in ("GPU", "GPU=", "GPU=many", "GPU=0", "GPU=-1"):
        with pytest.raises(SettingsError):
            load_settings(tmp_path / "s", {"node_resources": words})


def test_a_file_beside_the_skill_cannot_send_rollouts_elsewhere(tmp_path):
    (tmp_path / "skillsv.toml").write_text('engine = "ray:evil:6379"\n')
    with pytest.raises(SettingsError, match="--engine"):
        load_settings(tmp_path / "skill", {})


def test_a_later_command_runs_where_the_run_did_unless_told_otherwise():
    recorded = Settings(engine="ray:h:1", slots_per_node=3)
    assert _limits(recorded, RunOverrides()).engine == "ray:h:1"
    assert _limits(recorded, RunOverrides(engine="local")).engine == "local"
