"""`skillsv trigger`: which requests open a skill, and which sentences of its description decide that."""

import json

import pytest

from skillsv.cli import run

SKILL = """\
---
name: plotter
description: >
  Draws charts from tables. Be kind and brief.
  Also helps with maps.
---

# Steps

- Use bars.
"""

AGENT = '''\
"""Opens the skill where its description shares a word with the request, and answers which skill it would open."""

from pathlib import Path

from skillsv import Outcome

LOG = Path(__file__).with_name("log.txt")
WORDS = ("charts", "maps")


def note(task):
    with LOG.open("a") as log:
        log.write(f"{task.id}\\n")


def reporting(skill, task):
    note(task)
    head = skill.text.split("---")[1] if skill else ""
    assert "Use bars" in skill.text
    return Outcome(answer="done", opened=any(word in head and word[:-1] in task.input for word in WORDS))


def silent(skill, task):
    return "done"


def asked(skill, task):
    assert skill is None
    note(task)
    listed, request = task.input.split("<request>")
    mine = next(line for line in listed.splitlines() if line.startswith("- plotter"))
    names = ["plotter"] if any(word in mine and word[:-1] in request for word in WORDS) else []
    names += ["cook"] if "- cook: Recipes." in listed and "soup" in request else []
    return ", ".join(names) or "None."
'''

PROGRAM = """\
# Opens the skill where the sentences of its description name a chart or a map, as the request does.
request=$(cat)
opened=false
for word in chart map; do
  case "$request" in *"$word"*)
    if sed -n '2,/^---$/p' "$SKILLSV_SKILL/SKILL.md" | grep -q "${word}s"; then opened=true; fi ;;
  esac
done
echo "{\\"skill_opened\\": $opened, \\"input_tokens\\": 11, \\"cost_usd\\": 0.5}" > "$SKILLSV_USAGE"
echo done
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "plotter").mkdir()
    (tmp_path / "plotter/SKILL.md").write_text(SKILL)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "agent.sh").write_text(PROGRAM)
    (tmp_path / "cook.md").write_text("---\nname: cook\ndescription: Recipes.\n---\n\nSalt.\n")
    requests = [
        *(("Draw a chart of it", True) for _ in range(6)),
        *(("Which map is best?", False) for _ in range(3)),  # "Also helps with maps" opens it without need
        *(("Make a soup", False) for _ in range(6)),
        ("Plot my sales", True),  # needed, and no word says so
    ]
    lines = [{"id": f"r{n:02d}", "input": text, "should_trigger": wanted} for n, (text, wanted) in enumerate(requests)]
    lines.append({"id": "other", "input": "x", "target": "y"})
    (tmp_path / "requests.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trigger(capsys, *flags):
    code = run(
        ["trigger", "plotter", "--tasks", "requests.jsonl", "--max-rollouts", "400", "--quiet", "--json", *flags]
    )
    output = capsys.readouterr()
    return code, json.loads(output.out) if output.out else {}, output.err


@pytest.mark.heavy
@pytest.mark.parametrize(
    "flags",
    [
        ["--agent", "python:agent.py:reporting"],
        ["--agent", "python:agent.py:asked", "--ask"],
        ["--agent", "command:sh agent.sh", "--stdin", "text"],
    ],
    ids=["function", "asked", "program"],
)
def test_precision_recall_and_sentences(place, capsys, flags):
    code, found, _ = trigger(capsys, *flags)
    assert code == 0
    assert (found["schema"], found["requests"], found["expected"]) == ("skillsv.trigger/1", 16, 7)
    assert found["precision"]["value"] == pytest.approx(6 / 9)
    assert found["recall"]["value"] == pytest.approx(6 / 7)
    assert found["recall"]["low"] < 6 / 7 < found["recall"]["high"]
    wrong = [item["task"] for item in found["decisions"] if item["should_trigger"] != (item["opened"] > 0.5)]
    assert wrong == ["r06", "r07", "r08", "r15"]
    texts = [sentence["text"] for sentence in found["sentences"]]
    assert texts == ["Draws charts from tables.", "Be kind and brief.", "Also helps with maps."]
    assert [round(sentence["net"]["value"], 3) for sentence in found["sentences"]] == [6 / 16, 0.0, round(-3 / 16, 3)]


@pytest.mark.heavy
def test_the_same_command_pays_for_nothing_twice_and_an_edit_for_what_changed(place, capsys):
    flags = ["--agent", "python:agent.py:asked", "--ask"]
    _, first, _ = trigger(capsys, *flags)
    calls = len((place / "log.txt").read_text().split())
    _, again, _ = trigger(capsys, *flags)
    assert len((place / "log.txt").read_text().split()) == calls
    assert again["sentences"] == first["sentences"]
    (place / "plotter/SKILL.md").write_text(SKILL.replace("Use bars.", "Use lines."))
    trigger(capsys, *flags)  # the body is not shown to an agent that is asked
    assert len((place / "log.txt").read_text().split()) == calls
    (place / "plotter/SKILL.md").write_text(SKILL.replace("Be kind", "Be quick"))
    trigger(capsys, *flags)
    assert calls < len((place / "log.txt").read_text().split()) < 2 * calls


@pytest.mark.heavy
def test_other_skills_are_listed_beside_it(place, capsys):
    code, found, _ = trigger(capsys, "--agent", "python:agent.py:asked", "--ask", "--among", "cook.md")
    assert (code, found["requests"]) == (0, 16)
    code, _, error = trigger(capsys, "--agent", "python:agent.py:reporting", "--among", "cook.md")
    assert (code, "--ask" in error) == (2, True)


def test_an_agent_that_does_not_say_whether_it_opened_the_skill_is_refused(place, capsys):
    code, found, error = trigger(capsys, "--agent", "python:agent.py:silent")
    assert (code, found) == (2, {})
    assert "SKILLSV_USAGE" in error


@pytest.mark.parametrize(
    ("usage", "reason"),
    [("", "does not say"), ('{"cost_usd": 0.5}', "does not say"), ('{"skill_opened": "yes"}', "cannot be read")],
    ids=["no file", "other fields", "no truth value"],
)
def test_a_program_that_does_not_report_is_refused_with_the_reason(place, capsys, usage, reason):
    write = f"echo '{usage}' > \"$SKILLSV_USAGE\"\n" if usage else ""
    (place / "agent.sh").write_text(f"{write}echo done\n")
    code, found, error = trigger(capsys, "--agent", "command:sh agent.sh")
    assert (code, found) == (2, {})
    assert "skill_opened" in error
    assert reason in error


def test_tasks_without_should_trigger_are_refused(place, capsys):
    (place / "requests.jsonl").write_text('{"id": "a", "input": "x", "target": "y"}\n')
    code, _, error = trigger(capsys, "--agent", "python:agent.py:reporting")
    assert (code, "should_trigger" in error) == (2, True)


@pytest.mark.heavy
def test_a_description_that_opens_nothing_is_a_result(place, capsys):
    (place / "plotter/SKILL.md").write_text(SKILL.replace("charts", "figures").replace("maps", "plans"))
    code, found, _ = trigger(capsys, "--agent", "python:agent.py:reporting")
    assert (code, found["precision"], found["recall"]["value"]) == (0, None, 0.0)


@pytest.mark.heavy
def test_the_text_names_wrong_decisions(place, capsys):
    assert (
        run(["trigger", "plotter", "--tasks", "requests.jsonl", "--agent", "python:agent.py:reporting", "--yes"]) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("Precision: 67% [")
    assert "Opened without need: r06, r07, r08." in lines
    assert "Needed and not opened: r15." in lines


@pytest.mark.heavy
def test_a_trigger_run_cannot_be_pruned_or_confirmed(place, capsys):
    trigger(capsys, "--agent", "python:agent.py:reporting")
    folder = ".skillsv/plotter-trigger"
    assert run(["prune", folder, "-o", "shorter", "--yes"]) == 2
    assert run(["confirm", folder, "--yes"]) == 2
    assert run(["status", folder]) == 0
    assert run(["report", folder]) == 0


def test_without_consent_nothing_is_spent(place, capsys):
    code = run(["trigger", "plotter", "--tasks", "requests.jsonl", "--agent", "python:agent.py:reporting"])
    assert (code, "Forecast" in capsys.readouterr().err) == (2, True)
    assert not (place / "log.txt").exists()
