"""Planted agents read the rendered files, and their random answers repeat."""

import anyio
import pytest

from skillsv.agents.planted import Sight, make_planted, planted_logit, read_marks, success_chance
from skillsv.errors import AgentFailure, SettingsError
from skillsv.model.coalition import Operator, RenderedFile, Rendering
from skillsv.model.task import Task


def rendering(text, extra=b"", digest="d1"):
    files = (
        RenderedFile(path="SKILL.md", data=text.encode(), digest="x"),
        RenderedFile(path="notes.md", data=extra, digest="y"),
    )
    return Rendering(
        coalition=frozenset({"m"}),
        operator=Operator.DELETE,
        skill_name="s",
        main="SKILL.md",
        files=files,
        digest=digest,
    )


def task(formula, name="t"):
    return Task(id=name, input="Do it.", metadata={"planted": formula})


def answer(agent, skill, asked, tmp_path, replicate=0):
    return anyio.run(agent.run, skill, asked, replicate, tmp_path).answer


def test_marks_in_text_and_files_count(tmp_path):
    agent = make_planted("planted:rules")
    asked = task({"base": -1.0, "main": {"rule-01": 2.0}})
    assert answer(agent, rendering("Do [rule-01].", digest="a"), asked, tmp_path) == "solved"
    assert answer(agent, rendering("Do this.", digest="b"), asked, tmp_path) == "unsolved"
    assert answer(agent, rendering("See notes.", b"and [rule-01]", digest="c"), asked, tmp_path) == "solved"


def test_the_bare_agent_has_its_own_logit(tmp_path):
    agent = make_planted("rules")
    asked = task({"base": -1.0, "bare": 1.0})
    assert answer(agent, None, asked, tmp_path) == "solved"
    assert answer(agent, rendering("Nothing."), asked, tmp_path) == "unsolved"


@pytest.mark.parametrize(
    ("marks", "logit"),
    [
        (set(), -1.0),
        ({"rule-01"}, 1.0),
        ({"rule-02"}, 1.0),
        ({"rule-02", "rule-03"}, 1.0),
        ({"rule-04"}, -1.0),
        ({"rule-04", "rule-05"}, 1.0),
        ({"rule-01", "rule-06"}, -0.5),
    ],
)
def test_the_logit_follows_the_formula(marks, logit):
    formula = {
        "base": -1.0,
        "main": {"rule-01": 2.0, "rule-06": -1.5},
        "any": [[["rule-02", "rule-03"], 2.0]],
        "all": [[["rule-04", "rule-05"], 2.0]],
    }
    assert planted_logit(formula, Sight(frozenset(marks), 0)) == logit


def test_length_costs_if_the_formula_has_a_crowd_term():
    formula = {"base": 1.0, "crowd": [10, 2.0]}
    assert planted_logit(formula, read_marks("word " * 10)) == 1.0
    assert planted_logit(formula, read_marks("word " * 110)) == -1.0


def test_random_answers_depend_only_on_the_input(tmp_path):
    agent = make_planted("noisy@0.5")
    asked = [task({"base": 0.1}, f"t{number}") for number in range(400)]
    first = [answer(agent, rendering("x"), one, tmp_path) for one in asked]
    assert first == [answer(make_planted("noisy@0.5"), rendering("x"), one, tmp_path) for one in asked]
    assert first != [answer(agent, rendering("x"), one, tmp_path, replicate=1) for one in asked]
    assert first != [answer(agent, rendering("x", digest="other"), one, tmp_path) for one in asked]
    expected = success_chance(0.1, temperature=0.5)
    assert first.count("solved") / 400 == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 400) ** 0.5)


def test_lapses_flip_answers_both_ways():
    assert success_chance(5.0, lapse=0.08) == pytest.approx(0.92)
    assert success_chance(-5.0, lapse=0.08) == pytest.approx(0.08)


def test_a_task_without_a_formula_is_a_failure(tmp_path):
    with pytest.raises(AgentFailure, match="no `planted` formula"):
        answer(make_planted("rules"), None, Task(id="t", input="?"), tmp_path)


def test_a_formula_may_be_an_undeclared_key_of_the_task():
    known = {"planted": {"base": 1.0}}
    agent = make_planted("rules")
    for asked in (Task(id="a", input="?", metadata=known), Task(id="a", input="?", undeclared=known)):
        assert agent.solves(read_marks(""), asked)


@pytest.mark.parametrize("name", ["rule", "noisy", "noisy@0", "noisy@x", "noisy@nan", "lapse@0.7", "rules@1", ""])
def test_unknown_names_are_refused(name):
    with pytest.raises(SettingsError, match="no planted agent"):
        make_planted(name)


def test_fingerprints_differ_by_the_noise():
    names = ["rules", "noisy@0.5", "noisy@0.25", "lapse@0.08"]
    assert len({make_planted(name).fingerprint for name in names}) == len(names)
