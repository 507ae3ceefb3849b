"""Tests of promptfoo: what maps to verifiers here, and that everything else is named and refused."""

import json

import anyio
import pytest

from skillsv.errors import TaskError
from skillsv.model.rollout import Outcome
from skillsv.tasks import load_tasks, make_verifier

CONFIG = """\
prompts:
  - "Answer briefly: {{ question }}"
defaultTest:
  assert:
    - type: not-icontains
      value: sorry
tests:
  - description: A sum
    vars: {question: "2+2?", sum: "4"}
    assert:
      - type: contains
        value: "{{sum}}"
  - vars: {question: Hello}
    assert:
      - type: llm-rubric
        value: Greets back
"""


def config_file(folder, text, name="promptfooconfig.yaml"):
    path = folder / name
    path.write_text(text)
    return path


def test_prompt_variables_and_defaults_make_tasks(tmp_path):
    one, two = load_tasks(config_file(tmp_path, CONFIG))
    assert (one.input, one.verifier) == ("Answer briefly: 2+2?", "all")
    assert one.target == [
        {"verifier": "regex", "target": "4"},
        {"verifier": "contains", "target": "sorry", "not": True},
    ]
    assert one.metadata == {}
    assert one.all_metadata["vars"]["sum"] == "4"
    assert (two.verifier, two.target[0]) == ("judge", "Greets back")


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        ({"type": "equals", "value": "yes"}, "yes", "Yes"),
        ({"type": "equals", "value": {"a": 1}}, '{"a": 1}', "{}"),
        ({"type": "contains", "value": "a+b"}, "so a+b", "A+B"),
        ({"type": "icontains", "value": "Paid"}, "it is PAID", "open"),
        ({"type": "contains-any", "value": ["x1", "y2"]}, "y2", "Y2"),
        ({"type": "contains-all", "value": "x1, y2"}, "y2\nx1", "x1"),
        ({"type": "icontains-all", "value": ["x1", "y2"]}, "Y2 x1", "x1"),
        ({"type": "icontains-any", "value": ["x1", "y2"]}, "Y2", "z"),
        ({"type": "starts-with", "value": "Dear"}, "Dear Ann", "My Dear"),
        ({"type": "regex", "value": "^[0-9]+$"}, "12", "a1"),
        ({"type": "not-contains", "value": "sorry"}, "Sorry", "so sorry"),
    ],
)
def test_assertions_accept_and_refuse_as_in_promptfoo(tmp_path, check, right, wrong):
    text = json.dumps({"tests": [{"vars": {"q": "?"}, "assert": [check]}]})
    tasks = load_tasks(config_file(tmp_path, text, "tests.json"))
    verifier = make_verifier(tasks, folder=tmp_path)
    scores = [anyio.run(verifier.score, tasks[0], Outcome(answer=answer), tmp_path) for answer in (right, wrong)]
    assert scores == [1.0, 0.0]


def test_what_does_not_map_is_named_with_its_line(tmp_path):
    text = (
        "- vars: {q: a}\n  assert: [{type: equals, value: x}]\n"
        "- vars: {q: b}\n  assert: [{type: javascript, value: 'true'}, {type: similar, value: x}]\n"
        "- vars: {q: c}\n  threshold: 0.5\n  assert: [{type: equals, value: file://x.txt}]\n"
    )
    path = config_file(tmp_path, text)
    with pytest.raises(TaskError, match="no counterpart") as caught:
        load_tasks(path)
    assert caught.value.where == f"{path}:3"
    for name in ("`javascript`", "`similar`", "`threshold`", "`equals without a value in this file`"):
        assert name in caught.value.what


def test_a_function_of_the_user_gets_the_assertions_as_target(tmp_path):
    text = "- vars: {q: b}\n  assert: [{type: javascript, value: 'true'}]\n"
    (tmp_path / "check.py").write_text("def score(task, answer):\n    return 1.0\n")
    (task,) = load_tasks(config_file(tmp_path, text), verifier="python:check.py:score")
    assert (task.verifier, task.target) == ("python:check.py:score", [{"type": "javascript", "value": "true"}])
    with pytest.raises(TaskError, match="assertions of its own"):
        load_tasks(config_file(tmp_path, text), verifier="contains")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- vars: {a: x, b: y}\n  assert: [{type: equals, value: x}]\n", "which of `a`, `b` is the question"),
        ("- vars: {a: x}\n  assert: []\n", "no assertion"),
        ("prompts: [a, b]\ntests: [{vars: {a: x}, assert: [{type: equals, value: x}]}]\n", "2 prompts"),
        ("prompts: ['{{a | upper}}']\ntests: [{vars: {a: x}, assert: [{type: equals, value: x}]}]\n", "Only variables"),
        ("prompts: ['{{b}}']\ntests: [{vars: {a: x}, assert: [{type: equals, value: x}]}]\n", "variable `b`"),
        ("prompts: ['file://../p.txt']\ntests: [{vars: {a: x}, assert: [{type: equals, value: x}]}]\n", "beside"),
    ],
)
def test_tests_that_are_not_clear_are_refused(tmp_path, text, message):
    with pytest.raises(TaskError, match=message):
        load_tasks(config_file(tmp_path, text))
