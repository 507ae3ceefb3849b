import json
import re
from dataclasses import replace

import pytest

from skillsv.cli import run
from skillsv.model.edit import Confirmation
from skillsv.model.value import Interval
from skillsv.report.sentences import proof_sentence


def confirmed(place, capsys, *flags, code=0):
    capsys.readouterr()
    assert run(["confirm", str(place / "run"), "--json", "--quiet", "--yes", *flags]) == code
    return json.loads(capsys.readouterr().out)


def panels(place):
    manifest = json.loads((place / "run/manifest.json").read_text())
    return set(manifest["panel_a"]), set(manifest["panel_b"])


@pytest.mark.heavy
def test_no_command_before_confirm_uses_panel_b(tmp_path, capsys, valued):
    place = valued.value_tiny(tmp_path)
    a, b = panels(place)
    assert run(["prune", str(place / "run"), "-o", str(place / "short")]) == 0
    assert run(["report", str(place / "run")]) == 0
    assert set(valued.asked(place)) <= a
    before = len(valued.asked(place))
    confirmed(place, capsys, "--curves", "none")
    assert set(valued.asked(place)[before:]) == b


def test_the_pruned_skill_is_compared_on_the_whole_of_panel_b(place, capsys):
    answer = confirmed(place, capsys, "--curves", "none")
    _, b = panels(place)
    assert answer["schema"] == "skillsv.confirmation/1"
    assert answer["tasks"] == len(b)
    assert answer["new"]["value"] == 1.0  # without the mumbling and the duplicate, the agent says every word
    assert answer["old"]["value"] < 1.0
    assert answer["tokens_new"] < answer["tokens_old"]
    assert answer["delta"]["value"] == pytest.approx(answer["new"]["value"] - answer["old"]["value"])
    assert answer["anchors"]["empty"]["value"] == 0.0
    assert 0.2 < answer["concentration"] < 1


@pytest.mark.heavy
def test_the_same_command_again_pays_nothing(original, place, capsys, valued):
    first = confirmed(place, capsys)
    paid = len(valued.asked(original))
    assert confirmed(place, capsys) == first
    assert len(valued.asked(original)) == paid


@pytest.mark.heavy
def test_curves_start_at_the_whole_skill_and_end_at_the_trigger(place, capsys):
    answer = confirmed(place, capsys, "--curves", "skillsv,loo,random", "--checkpoints", "3")
    for curve in answer["curves"]:
        first, *_, last = curve["points"]
        assert (first["share_removed"], last["share_removed"]) == (0.0, 1.0)
        assert first["score"]["value"] == pytest.approx(answer["anchors"]["full"]["value"])
        assert last["score"]["value"] == pytest.approx(answer["anchors"]["trigger"]["value"])
    assert [curve["method"] for curve in answer["curves"]] == ["skillsv", "loo", "random"]
    areas = {curve["method"]: curve["auc"]["value"] for curve in answer["curves"]}
    assert areas["skillsv"] > areas["random"]
    assert len(answer["comparisons"]) == len(answer["agreements"]) == 3
    page = (place / "run/report.html").read_text()
    assert "not used for the values" in page
    assert "Pruning on panel B" in page
    assert page.count(' band"') == 3  # each curve once
    costs = re.findall(
        r"<dt>cost of (\w+)</dt><dd>([\d,]+) rollouts?, tokens and cost unknown, \d+ s of agent time", page
    )
    assert [name for name, _ in costs] == ["value", "baselines", "confirm"]
    assert (
        f"{costs[0][1]} rollouts, tokens and cost unknown"
        in page.split('class="origin"><summary>')[1].split("</summary>")[0]
    )


@pytest.fixture
def judge(tmp_path):
    """The specification of a judge that likes alpha, and the file where it notes what it was asked."""
    program, log = tmp_path / "judge.py", tmp_path / "judged.txt"
    program.write_text(
        f"def rate(skill, task, replicate):\n"
        f"    open({str(log)!r}, 'a').write(task.id + ' ')\n"
        f"    return '90' if 'alpha' in task.input else '10'\n"
    )
    return f"python:{program}:rate", log


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("flags", "others"), [([], ["skillsv", "loo", "random"]), (["--curves", "skillsv"], ["skillsv"])]
)
def test_naming_a_judge_adds_its_curve_to_the_others(place, capsys, judge, flags, others):
    spec, log = judge
    answer = confirmed(place, capsys, *flags, "--judge", spec)
    assert [curve["method"] for curve in answer["curves"]] == [*others, "judge"]
    assert len(log.read_text().split()) == 5


def test_the_forecast_includes_the_calls_of_the_judge(place, capsys, judge):
    spec, log = judge
    command = ["confirm", str(place / "run"), "--curves", "skillsv", "--checkpoints", "1", "--replicates", "1"]

    def forecast(*flags):
        capsys.readouterr()
        assert run([*command, *flags]) == 2
        printed = capsys.readouterr().err
        return int(re.search(r"([\d,]+) rollouts", printed)[1].replace(",", "")), printed

    before, _ = forecast()
    after, printed = forecast("--judge", spec)
    tasks = len(panels(place)[1])
    assert after == before + 5 + tasks  # five questions, and one more checkpoint on panel B
    assert "asked about 5 units" in printed
    assert not log.exists()


def test_the_forecast_is_printed_once(place, capsys):
    capsys.readouterr()
    assert run(["confirm", str(place / "run"), "--curves", "none", "--yes"]) == 0
    assert capsys.readouterr().err.count("Forecast: ") == 1


@pytest.mark.parametrize("flags", [["confirm", "--curves", "none"], ["confirm", "--skill", "tiny"], ["pairs"],
                                   ["refine", "--mechanical", "-o", "shorter"]])  # fmt: skip
def test_a_judge_that_nothing_asks_is_refused_before_spending(
    original, place, capsys, judge, valued, monkeypatch, flags
):
    monkeypatch.chdir(original)
    asked = len(valued.asked(original))
    command, *rest = flags
    assert run([command, str(place / "run"), *rest, "--judge", judge[0], "--yes"]) == 2
    assert "--judge has no effect here" in capsys.readouterr().err
    assert len(valued.asked(original)) == asked


def test_a_judge_curve_without_a_judge_is_refused_before_spending(original, place, capsys, valued):
    asked = len(valued.asked(original))
    assert run(["confirm", str(place / "run"), "--curves", "loo,judge", "--yes"]) == 2
    assert "needs a judge" in capsys.readouterr().err
    assert len(valued.asked(original)) == asked


@pytest.mark.heavy
def test_a_judge_ranks_units_through_the_ledger(place, capsys, judge):
    spec, log = judge
    answer = confirmed(place, capsys, "--curves", "judge", "--judge", spec)
    assert [curve["method"] for curve in answer["curves"]] == ["judge"]
    asked = log.read_text().split()
    assert len(asked) == 5
    assert confirmed(place, capsys, "--curves", "judge", "--judge", spec)["curves"] == answer["curves"]
    assert log.read_text().split() == asked


def test_a_given_skill_folder_is_compared_unchanged(place, capsys, tmp_path, valued):
    new = tmp_path / "new"
    new.mkdir()
    (new / "SKILL.md").write_text(
        valued.SKILL.replace("- Say `alpha` whenever anybody asks for the first of the words.\n", "")
    )
    answer = confirmed(place, capsys, "--skill", str(new), code=3)
    assert answer["new"]["value"] < answer["old"]["value"]
    assert answer["delta"]["high"] < 0
    assert answer["curves"] == []


def test_the_gate_is_met_where_nothing_can_change(original, place, capsys):
    answer = confirmed(place, capsys, "--skill", str(original / "tiny"), "--max-drop", "2")
    assert answer["gate"] == {"max_drop": 0.02, "level": 0.95, "met": True}
    assert answer["at_worst"] == 0


def test_a_gate_that_is_not_met_exits_with_3_and_keeps_the_result(place, capsys, tmp_path, valued):
    new = tmp_path / "new"
    new.mkdir()
    (new / "SKILL.md").write_text(valued.SKILL.replace("Say `alpha`", "Whisper"))
    answer = confirmed(place, capsys, "--skill", str(new), "--max-drop", "2", "--level", "0.9", code=3)
    assert answer["gate"]["met"] is False
    assert answer["gate"]["level"] == 0.9
    assert (place / "run/confirmation.json").is_file()


def test_a_panel_too_small_for_the_gate_is_reported_before_spending(place, capsys):
    assert run(["confirm", str(place / "run"), "--max-drop", "2", "--curves", "none"]) == 2
    printed = capsys.readouterr().err
    assert "needs 149 tasks" in printed
    assert "--yes" in printed


def test_a_second_version_on_panel_b_is_noted(original, place, capsys):
    assert confirmed(place, capsys, "--curves", "none")["notes"] == []
    again = confirmed(place, capsys, "--skill", str(original / "tiny"))
    assert any("1 other version" in note for note in again["notes"])


def test_a_reached_budget_keeps_paid_rollouts(original, place, capsys, valued):
    before = len(valued.asked(original))
    assert run(["confirm", str(place / "run"), "--curves", "none", "--quiet", "--max-rollouts", "10"]) == 4
    spent = len(valued.asked(original)) - before
    assert 0 < spent <= 10
    before = len(valued.asked(original))
    full = confirmed(place, capsys, "--curves", "none")
    assert len(valued.asked(original)) - before == len({"empty", "trigger", "old", "new"}) * full["tasks"] + 16 - spent


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: {**line, "input": "!"}, "has changed since"),
        (lambda line: {**line, "id": f"other-{line['id']}"}, "not here any more"),
    ],
)
def test_changed_tasks_are_refused(original, place, capsys, change, words):
    _, b = panels(place)
    lines = [json.loads(line) for line in (original / "tasks.jsonl").read_text().splitlines()]
    changed = [change(line) if line["id"] in b else line for line in lines]
    other = place / "tasks.jsonl"
    other.write_text("".join(f"{json.dumps(line)}\n" for line in changed))
    manifest = json.loads((place / "run/manifest.json").read_text())
    manifest["about"]["tasks"] = str(other)
    (place / "run/manifest.json").write_text(json.dumps(manifest))
    assert run(["confirm", str(place / "run"), "--yes"]) == 2
    assert words in capsys.readouterr().err


def test_tasks_of_panel_a_are_refused(original, place, capsys):
    a, _ = panels(place)
    lines = (original / "tasks.jsonl").read_text().splitlines()
    other = place / "again.jsonl"
    other.write_text("".join(f"{line}\n" for line in lines if json.loads(line)["id"] in a))
    assert run(["confirm", str(place / "run"), "--yes", "--tasks", str(other)]) == 2
    assert "are in panel A, too" in capsys.readouterr().err


def test_new_tasks_make_a_new_panel_b(place, capsys):
    lines = [{"id": f"n{n}", "input": "?", "target": "beta", "verifier": "contains"} for n in range(9)]
    other = place / "new.jsonl"
    other.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert confirmed(place, capsys, "--curves", "none", "--tasks", str(other), code=3)["tasks"] == 9


@pytest.mark.heavy
def test_a_run_without_panel_b_says_what_to_do(tmp_path, capsys, valued):
    place = valued.value_tiny(tmp_path, "--panel-b", "0", tasks=12)
    assert run(["confirm", str(place / "run"), "--yes"]) == 2
    assert "kept no tasks for confirmation" in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    [["--curves", "astrology"], ["--curves", ","], ["--level", "20"], ["--max-drop", "0"], ["--checkpoints", "0"],
     ["--replicates", "0"], ["--jobs", "0"], ["--skill", "nowhere"], ["--curves", "judge"]],
)  # fmt: skip
def test_invalid_flags_are_refused(place, capsys, flags):
    assert run(["confirm", str(place / "run"), "--yes", *flags]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.heavy
def test_a_noisy_agent_gets_three_replicates(tmp_path, capsys, monkeypatch, valued):
    place = valued.value_tiny(tmp_path, tasks=24)
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "def answer(skill, task, replicate):\n"
        "    return 'alpha beta' if skill and (len(skill.text) + int(task.id[1:]) + replicate) % 2 else ''\n"
    )
    answer = confirmed(place, capsys, "--curves", "none", "--agent", f"python:{noisy}:answer", code=3)
    assert answer["replicates"] == 3
    assert any("scores changed. Every score is the mean of 3 replicates" in note for note in answer["notes"])
    assert any("not the agent" in note for note in answer["notes"])


@pytest.mark.heavy
def test_curves_of_several_skills_are_pooled(original, place, capsys):
    flags = ("--curves", "skillsv,random", "--checkpoints", "2")
    alone = confirmed(place, capsys, *flags)
    assert run(["confirm", str(place / "run"), "--yes", "--quiet", *flags, "--pool", str(place)]) == 2  # no run there
    together = confirmed(place, capsys, *flags, "--pool", str(place / "run"))
    (pooled,) = together["pooled"]
    assert pooled["difference"]["value"] == pytest.approx(alone["comparisons"][0]["difference"]["value"])
    one, other = (item["difference"]["high"] - item["difference"]["low"] for item in (pooled, alone["comparisons"][0]))
    assert one < other


def test_a_loss_is_reported_as_a_loss_and_ends_with_exit_code_3(place, tmp_path, capsys):
    worse = tmp_path / "worse.md"
    worse.write_text("# Words\n\nNothing is known.\n")
    assert run(["confirm", str(place / "run"), "--skill", str(worse), "--quiet", "--yes"]) == 3
    printed = capsys.readouterr()
    assert printed.out.startswith("Worse on ")
    assert "onfirmed" not in printed.out.splitlines()[0]
    assert "the new skill is worse" in printed.err


def test_what_is_not_shown_is_not_called_confirmed(original, place, capsys):
    assert run(["confirm", str(place / "run"), "--skill", str(original / "tiny"), "--quiet", "--yes"]) == 0
    same = capsys.readouterr().out
    assert same.startswith("Confirmed on "), "the same bytes cannot be worse"
    confirmation = Confirmation(
        tasks=20,
        old=Interval(0.95, 0.8, 1.0),
        new=Interval(0.90, 0.7, 1.0),
        delta=Interval(-0.05, -0.15, 0.05),
        tokens_old=100,
        tokens_new=80,
        at_worst=-0.2,
        max_drop=0.05,
    )
    sentence = proof_sentence(confirmation)
    assert sentence.startswith("Not shown on 20 held-out tasks to be no worse by more than 5 points: from 95.0 to 90.0")
    earlier = proof_sentence(replace(confirmation, at_worst=None, max_drop=None))
    assert earlier.startswith("Not shown"), "a proof of an earlier version says nothing about a limit"


@pytest.mark.heavy
def test_all_proofs_are_kept_and_the_last_comes_first(place, tmp_path, capsys):
    worse = tmp_path / "worse.md"
    worse.write_text("# Words\n\nNothing is known.\n")
    confirmed(place, capsys, "--curves", "none")
    confirmed(place, capsys, "--skill", str(worse), code=3)
    stored = json.loads((place / "run/confirmation.json").read_text())
    assert stored["outcome"] == "worse"
    assert [proof["outcome"] for proof in stored["earlier"]] != []
    for command in (["status", str(place / "run")], ["report", str(place / "run"), "--format", "md"]):
        capsys.readouterr()
        assert run(command) == 0
        assert "Worse on " in capsys.readouterr().out
    assert "Worse on " in (place / "run/report.html").read_text()


@pytest.mark.heavy
def test_without_max_drop_the_default_gate_decides_the_exit_code(place, tmp_path, capsys):
    other = tmp_path / "other.md"
    other.write_text((place / "run/skill/SKILL.md").read_text() + "\nA remark.\n")
    answer = confirmed(place, capsys, "--skill", str(other), code=3)
    assert (answer["outcome"], answer["gate"]) == ("not shown", {"max_drop": 0.05, "level": 0.95, "met": False})
    assert confirmed(place, capsys, "--skill", str(other), "--max-drop", "20")["outcome"] == "no worse"


def test_json_shows_the_last_proof_first(place, tmp_path, capsys):
    confirmed(place, capsys, "--curves", "none")
    for command in (["status"], ["estimate"], ["report", "--format"]):
        last = ["json"] if command[-1] == "--format" else ["--json"]
        assert run([command[0], str(place / "run"), *command[1:], *last]) == 0
        table = json.loads(capsys.readouterr().out)
        assert list(table)[:2] == ["schema", "proof"]
        assert "onfirmed on " in str(table["proof"])


@pytest.mark.heavy
def test_the_proof_of_a_run_stays_when_another_run_begins(tmp_path, capsys, valued):
    place = valued.value_tiny(tmp_path)
    confirmed(place, capsys, "--curves", "none")
    before = (place / "run/confirmation.json").read_bytes()
    (place / "tiny/SKILL.md").write_text(valued.SKILL.replace("Mumble", "Murmur"))
    command = [
        "value", str(place / "tiny"), "--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/agent.py:answer",
        "--run-dir", str(place / "run"), "--operators", "delete", "-k", "4", "-b", "8", "--yes", "--quiet",
    ]  # fmt: skip
    assert run(command) == 0
    capsys.readouterr()
    confirmed(place, capsys, "--curves", "none", "--max-drop", "60")
    kept = [path for path in (place / "run/earlier").rglob("confirmation.json") if path.read_bytes() == before]
    assert len(kept) == 1


def test_status_counts_what_every_command_spent(place, capsys):
    assert run(["status", str(place / "run"), "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    confirmed(place, capsys, "--curves", "none")
    assert run(["status", str(place / "run"), "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["rollouts"] == before["rollouts"]
    assert after["total"]["rollouts"] == before["total"]["rollouts"] + after["commands"]["confirm"]["rollouts"]
    assert after["commands"]["confirm"]["rollouts"] >= 3 * 24
    assert run(["status", str(place / "run")]) == 0
    assert "Spent by confirm: " in capsys.readouterr().out
