"""The Inspect agent with Inspect's mock model: mixed batches, errors of one sample, the skill tool, no logs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import anyio
import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from skillsv.agents import AgentOptions, make_agent
from skillsv.errors import AgentFailure, SettingsError, SkillSVError
from skillsv.model.rollout import FailureKind, Outcome, Usage
from skillsv.model.task import Task
from skillsv.sandbox import fresh_workspace
from skillsv.tasks import load_tasks, make_verifier

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:inspect_ai")

FILES = Path(__file__).parent / "files"
HEAD = "---\nname: faq\ndescription: Colours of things.\n---\n\n"
SKY = Task(id="sky", input="What colour is the sky?", target="blue", verifier="inspect")
GRASS = Task(id="grass", input="What colour is the grass?", target="green", verifier="inspect")
STORM = Task(id="storm", input="What colour is the storm?", target="grey", verifier="inspect")


def agent_of(name: str, **options):
    return make_agent(f"inspect:colours.py@{name}", AgentOptions(folder=FILES, **options))


def ask(agent, *rollouts):
    """Run (skill, task) pairs at once; each gives an Outcome or the error that it raised."""
    results: dict[int, Outcome | SkillSVError] = {}

    async def one(number, skill, task):
        async with fresh_workspace(task) as workspace:
            try:
                results[number] = await agent.run(skill, task, 0, workspace)
            except SkillSVError as error:
                results[number] = error

    async def all_at_once():
        async with anyio.create_task_group() as group:
            for number, (skill, task) in enumerate(rollouts):
                group.start_soon(one, number, skill, task)

    anyio.run(all_at_once)
    return [results[number] for number in range(len(rollouts))]


def logs_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.eval"))


@pytest.mark.heavy
def test_one_evaluation_mixes_skills_and_tasks(tmp_path, rendering):
    both, one = rendering("The sky is blue.\nThe grass is green."), rendering("The sky is blue. {skill} {prompt} {")
    rollouts = [(skill, task) for skill in (both, one, None) for task in (SKY, GRASS)]
    outcomes = ask(agent_of("colours", inspect_logs=tmp_path / "logs"), *rollouts)
    assert [outcome.scores for outcome in outcomes] == [{"includes": score} for score in (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)]
    assert [outcome.answer for outcome in outcomes][:4] == ["blue", "green", "blue", "I do not know"]
    assert len(logs_in(tmp_path / "logs")) == 1


def test_an_error_in_one_sample_fails_only_its_own_rollout(rendering, key):
    skill = rendering("The sky is blue.")
    sky, storm, grass = ask(agent_of("stormy"), (skill, SKY), (skill, STORM), (None, GRASS))
    assert (sky.answer, grass.answer) == ("blue", "I do not know")
    assert isinstance(storm, AgentFailure)
    assert storm.kind == FailureKind.CRASH
    assert "lightning struck" in storm.what
    assert key not in storm.what
    assert "[OPENAI_API_KEY]" in storm.what


@pytest.mark.heavy
def test_the_outcome_has_usage_and_transcript(rendering):
    (outcome,) = ask(agent_of("colours"), (rendering("The sky is blue."), SKY))
    assert outcome.usage == Usage(input_tokens=13, output_tokens=2)
    assert outcome.transcript == "blue"
    assert outcome.opened is None


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["by_tool", "by_react"])
def test_the_skill_tool_gives_the_rendered_skill_and_opening_is_recorded(rendering, name):
    hastily = Task(id="h", input="Say hastily what colour the sky is", target="blue", verifier="inspect")
    known, other = rendering(f"{HEAD}The sky is blue.\n"), rendering(f"{HEAD}The grass is green.\n")
    outcomes = ask(agent_of(name), (known, SKY), (other, SKY), (known, hastily), (None, SKY))
    assert [outcome.answer for outcome in outcomes] == ["blue", "I read it in vain", "I do not know", "I do not know"]
    assert [outcome.opened for outcome in outcomes] == [True, True, False, None]
    assert "> skill {'command': 'faq'}" in outcomes[0].transcript


@pytest.mark.heavy
def test_an_evaluation_leaves_no_files(tmp_path, monkeypatch, rendering):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    agent = agent_of("colours")
    ask(agent, (rendering("The sky is blue."), SKY))  # the first one in a process also opens the trace file
    before = {path for path in tmp_path.rglob("*") if path.is_file() and path.name != "trace.log"}
    ask(agent, (rendering("The sky is blue."), SKY))
    after = {path for path in tmp_path.rglob("*") if path.is_file() and path.name != "trace.log"}
    assert before == after == set()


@pytest.mark.heavy
def test_the_scorer_of_inspect_does_not_run_for_other_verifiers(rendering):
    task = Task(id="sky", input=SKY.input, target="blue", verifier="contains")
    agent = agent_of("broken_scorer")
    plain, scored = ask(agent, (rendering("The sky is blue."), task), (rendering("The sky is blue."), SKY))
    assert (plain.answer, plain.scores) == ("blue", {})
    assert isinstance(scored, AgentFailure)
    assert "nobody asked" in scored.what


@pytest.mark.heavy
def test_files_of_a_task_are_in_the_sandbox(tmp_path):
    (tmp_path / "note.txt").write_text("a blue note")
    task = Task(id="n", input="Read.", target="blue", verifier="inspect", files={"note.txt": tmp_path / "note.txt"})
    (outcome,) = ask(agent_of("with_file"), (None, task))
    assert (outcome.answer, outcome.scores) == ("a blue note", {"includes": 1.0})


@pytest.mark.heavy
def test_parts_of_a_score_have_separate_names(rendering):
    (outcome,) = ask(agent_of("in_parts"), (None, SKY))
    assert outcome.scores == {"graded.first": 0.25, "graded.second": 1.0}


@pytest.mark.heavy
def test_tasks_from_an_inspect_dataset_keep_their_choices():
    (task,) = load_tasks(FILES / "inspect:colours.py@quiz")
    (outcome,) = ask(agent_of("quiz"), (None, task))
    verifier = make_verifier([task], folder=FILES)
    assert anyio.run(verifier.score, task, outcome, FILES) == 1.0


def test_the_verifier_inspect_without_a_scorer_is_an_error_of_settings():
    (error,) = ask(agent_of("no_scorer"), (None, SKY))
    assert isinstance(error, SettingsError)
    assert "colours.py@no_scorer: the verifier of task sky is `inspect`" in str(error)


def test_the_model_comes_from_the_spec_the_task_or_the_environment(monkeypatch):
    monkeypatch.delenv("INSPECT_EVAL_MODEL", raising=False)
    with pytest.raises(SettingsError, match=r"no model is named.*\?model=PROVIDER/NAME"):
        agent_of("no_model")
    assert ":mockllm/named:" in agent_of("no_model?model=mockllm/named").fingerprint
    assert ":mockllm/named:" in agent_of("colours?model=mockllm/named").fingerprint
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "mockllm/environment")
    assert ":mockllm/environment:" in agent_of("no_model").fingerprint
    assert ":mockllm/model:" in agent_of("colours").fingerprint


@pytest.mark.parametrize("model", ["nobody/nothing", "anthropic/some-model"])
def test_a_model_that_cannot_be_made_is_refused_at_once(monkeypatch, model):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(SettingsError, match=f"the model `{model}` cannot be used") as caught:
        agent_of(f"no_model?model={model}")
    assert "\n" not in str(caught.value)
    assert "[bold]" not in str(caught.value)


def test_the_fingerprint_covers_file_imports_arguments_and_model(tmp_path):
    shutil.copy(FILES / "colours.py", tmp_path / "other.py")
    (tmp_path / "facts.py").write_text("SKY = 'blue'\n")
    text = (FILES / "colours.py").read_text()
    (tmp_path / "colours.py").write_text(f"{text}\nimport facts\n")

    def now(spec):
        return make_agent(f"inspect:{spec}", AgentOptions(folder=tmp_path)).fingerprint

    seen = [now("colours.py@colours"), now("other.py@colours"), now("colours.py@no_scorer")]
    seen += [now("colours.py@colours?repeat=2"), now("colours.py@colours?model=mockllm/other")]
    (tmp_path / "facts.py").write_text("SKY = 'grey'\n")
    seen.append(now("colours.py@colours"))
    assert len(set(seen)) == len(seen)
    assert now("colours.py@colours") == seen[-1]


@pytest.mark.heavy
def test_an_answer_over_the_size_limit_is_a_failure(rendering):
    (failure,) = ask(agent_of("colours", output_bytes=3), (rendering("The sky is blue."), SKY))
    assert failure.kind == FailureKind.BAD_OUTPUT


LOOK = """
import json
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

@solver
def look():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("mock", json.dumps([state.target.text, state.input_text, state.metadata]))
        return state
    return solve

@task
def looked():
    return Task(dataset=[Sample(input="?", target="?")], solver=look(), scorer=includes(), model="mockllm/model")
"""


def test_a_sample_has_the_target_only_for_the_scorer_of_inspect(tmp_path):
    (tmp_path / "look.py").write_text(LOOK)
    secret = {"target": "quokka-71", "undeclared": {"answer": "quokka-72"}, "metadata": {"hint": "warm"}}
    ours, theirs = (Task(id=name, input="?", verifier=name, **secret) for name in ("contains", "inspect"))
    hidden, scored = ask(
        make_agent("inspect:look.py@looked", AgentOptions(folder=tmp_path)), (None, ours), (None, theirs)
    )
    assert "warm" in hidden.answer
    assert "quokka" not in hidden.answer
    assert "quokka-71" in scored.answer
    assert "quokka-72" not in scored.answer
    assert scored.scores == {"includes": 1.0}


def test_the_former_module_path_exports_the_same_names():
    from skillsv.agents import inspect, inspect_task

    assert inspect_task.skill_from_sample is inspect.skill_from_sample
    assert inspect_task.skill_tools is inspect.skill_tools


@pytest.mark.heavy
@pytest.mark.parametrize("start", ["---\n", "--- \n"])
def test_frontmatter_that_inspect_would_write_out_is_refused_before_inspect_reads_it(rendering, start):
    """Inspect parses on the event loop of all samples: a merge bomb would stop every rollout."""
    levels = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
    text = start + "\n".join(["name: faq", "description: d", "a0: &a0 {x: 1}", *levels]) + "\n---\n\nThe sky is blue."
    bomb, fine = ask(agent_of("by_tool"), (rendering(text), SKY), (rendering(f"{HEAD}The sky is blue."), SKY))
    assert isinstance(bomb, AgentFailure)
    assert "values with aliases written out" in str(bomb)
    assert fine.answer == "blue"
