"""Files of a run folder that were damaged or edited: each is one sentence, never a traceback and never a silent change."""

import json
import shutil

import pytest

from skillsv.cli import run

SHAPES = [
    [],
    "text",
    {},
    {"schema": "skillsv.run/1"},
    {"settings": []},
    {"settings": None},
    {"skill": "tiny"},
    {"skill": {"name": 3}},
    {"agent": []},
    {"agent": {"spec": None}},
    {"about": 7},
    {"about": {"forecast": "many"}},
    {"about": {"settings": []}},
    {"panel_a": ["t1"]},
    {"panel_a": {"t1": 4}},
    {"panel_b": None},
    {"digest": 5},
]
LOST = ["skill", "agent", "about", "digest", "settings", "panel_a", "panel_b"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    place = tmp_path_factory.mktemp("finished")
    (place / "tiny").mkdir()
    (place / "tiny/SKILL.md").write_text("# Words\n\n- Say `alpha`.\n- Mumble.\n")
    (place / "agent.py").write_text(
        "def answer(skill, task, replicate):\n    return 'alpha' if skill is not None and 'alpha' in skill.text else ''\n"
    )
    task = {"input": "?", "target": "alpha", "verifier": "contains"}
    (place / "tasks.jsonl").write_text("".join(json.dumps({"id": f"t{n}", **task}) + "\n" for n in range(6)))
    words = ["--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/agent.py:answer", "--method", "chain"]
    flags = ["-k", "2", "-b", "2", "--panel-b", "2", "--yes", "--quiet", "--run-dir", str(place / "run")]
    assert run(["value", str(place / "tiny"), *words, *flags]) == 0
    return place


@pytest.fixture
def folder(finished, tmp_path):
    shutil.copytree(finished / "run", tmp_path / "run")
    return tmp_path / "run"


def complains(folder, capsys, *commands):
    for command in commands:
        capsys.readouterr()
        code = run([command, str(folder), *([str(folder)] if command == "compare" else [])])
        errors = capsys.readouterr().err
        assert code == 2, (command, errors)
        assert "an error in skillsv itself" not in errors
        assert errors.count("\n") == 1, errors


@pytest.mark.parametrize("part", SHAPES, ids=repr)
def test_a_manifest_of_the_wrong_shape_is_one_sentence(folder, capsys, part):
    manifest = json.loads((folder / "manifest.json").read_text())
    changed = part if not isinstance(part, dict) or not part else {**manifest, **part}
    if part == {"schema": "skillsv.run/1"}:
        changed = part
    (folder / "manifest.json").write_text(json.dumps(changed))
    complains(folder, capsys, "report", "estimate", "prune", "compare")


@pytest.mark.parametrize("part", LOST)
def test_a_manifest_without_a_part_is_one_sentence(folder, capsys, part):
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest[part]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    complains(folder, capsys, "report", "estimate")


@pytest.mark.parametrize("agent", [{}, {"fingerprint": "x"}, None])
def test_a_manifest_without_its_agent_ends_no_command_with_a_traceback(folder, capsys, agent):
    """Found by `tools/fuzz.py`: the name of the run depends on the kind of agent."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "agent": agent}))
    assert run(["status", str(folder)]) in {0, 2}
    assert "an error in skillsv itself" not in capsys.readouterr().err
    complains(folder, capsys, "report", "estimate")


def test_a_deeply_nested_manifest_is_one_sentence(folder, capsys):
    (folder / "manifest.json").write_text('{"a": ' + "[" * 100_000)
    complains(folder, capsys, "status", "report")


def test_a_digit_that_changed_in_the_records_is_noticed(folder, capsys):
    """One score of one task: without a checksum, the line still reads, and the values differ."""
    records = folder / "records.jsonl"
    text = records.read_text()
    places = [place for place in range(len(text) - 3) if text[place : place + 3] in {"1.0", "0.0"}]
    for place in (places[0], places[len(places) // 2], places[-1]):
        changed = "0" if text[place] == "1" else "1"
        records.write_text(text[:place] + changed + text[place + 1 :])
        complains(folder, capsys, "report", "estimate", "status")
        assert run(["estimate", str(folder)]) == 2
        assert "was changed or damaged" in capsys.readouterr().err


def test_records_of_an_earlier_version_have_no_checksum_and_still_read(folder, capsys):
    records = folder / "records.jsonl"
    capsys.readouterr()
    assert run(["estimate", str(folder), "--json"]) == 0
    expected = capsys.readouterr().out
    records.with_name("records.crc32").unlink()
    assert run(["estimate", str(folder), "--json"]) == 0
    assert capsys.readouterr().out == expected


def test_lines_that_are_gone_are_noticed_and_lines_without_a_checksum_are_read(folder, capsys):
    records, sums = folder / "records.jsonl", folder / "records.crc32"
    lines = records.read_text().splitlines(keepends=True)
    assert sums.read_text().count("\n") == len(lines)
    records.write_text("".join(lines[:-1]))
    complains(folder, capsys, "estimate")
    records.write_text("".join(lines))
    sums.write_text("".join(sums.read_text().splitlines(keepends=True)[:-1]))
    assert run(["estimate", str(folder)]) == 0, "a crash between the two files loses checksums, not records"


def test_bytes_that_are_no_text_are_one_sentence(folder, capsys):
    """Found by `tools/fuzz.py`: the decoder raises another error for text that is not UTF-8 than for other damage."""
    manifest, records = folder / "manifest.json", folder / "records.jsonl"
    original = manifest.read_bytes()
    manifest.write_bytes(original.replace(b"chain", b"ch\xffin", 1))
    complains(folder, capsys, "report", "status")
    manifest.write_bytes(original)
    records.with_name("records.crc32").unlink()
    records.write_bytes(records.read_bytes().replace(b"words/", b"w\xffrds/", 1))
    complains(folder, capsys, "report", "status")


CONTRADICTIONS = {
    "a score too few": lambda chain: chain["full"].pop(),
    "a score of two": lambda chain: chain["empty"].__setitem__(0, 2.0),
    "a step of no position": lambda chain: chain["steps"][0].update(position=99),
    "a step of another unit": lambda chain: chain["steps"][0].update(unit="m"),
    "a step twice": lambda chain: chain["steps"].append(chain["steps"][0]),
    "no trigger": lambda chain: chain.update(trigger=[]),
    "truncated behind the end": lambda chain: chain.update(truncated_at=99),
    "no order": lambda chain: chain["plan"].update(order=[]),
    "no operator": lambda chain: chain["plan"].update(operators=[]),
    "no tasks": lambda chain: chain["plan"].update(window={"tasks": []}),
    "unknown tasks": lambda chain: chain["plan"].update(window={"tasks": ["x", "y"]}),
}


@pytest.mark.parametrize("change", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_record_that_contradicts_itself_is_one_sentence(folder, capsys, change):
    """Found by `tools/fuzz.py`: without checksums, such a record ended the estimate with a traceback."""
    records = folder / "records.jsonl"
    records.with_name("records.crc32").unlink()
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    change(next(line["record"] for line in lines if line["schema"] == "skillsv.chain/1"))
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    complains(folder, capsys, "report", "estimate")


@pytest.mark.parametrize("part", ['"order": ["m", "x", "y"]', '"operators": ["pad", "delete"]'])
def test_records_of_another_skill_are_one_sentence(folder, capsys, part):
    records = folder / "records.jsonl"
    records.with_name("records.crc32").unlink()
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    key, value = next(iter(json.loads(f"{{{part}}}").items()))
    for line in lines:
        if line["schema"] == "skillsv.chain/1":
            plan = line["record"]["plan"]
            plan[key] = value
            for step in line["record"]["steps"]:
                step["unit"] = plan["order"][step["position"]]
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    complains(folder, capsys, "report", "estimate")


@pytest.mark.parametrize("name", ["notes.json", "confirmation.json"])
@pytest.mark.parametrize("text", [b'{"a": "\xff"}', b"[" * 100_000], ids=["bytes", "depth"])
def test_damaged_notes_and_proofs_are_left_out(folder, capsys, name, text):
    (folder / name).write_bytes(text)
    assert run(["report", str(folder)]) == 0
    assert run(["status", str(folder)]) == 0
