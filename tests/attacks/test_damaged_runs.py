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


def test_a_deeply_nested_manifest_is_one_sentence(folder, capsys):
    (folder / "manifest.json").write_text('{"a": ' + "[" * 100_000)
    complains(folder, capsys, "status", "report")
