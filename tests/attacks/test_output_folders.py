"""Attacks through the folders that commands write to: nothing of the user's is replaced, moved or written.

Each test compares the bytes of everything the user has, before and after.
"""

import json
import shutil
from pathlib import Path

import pytest

from skillsv.cli import run

SKILL = """\
---
name: tiny
description: Words to say.
---

# Words

- Say `alpha` whenever anybody asks for the first of the words.
- Mumble while you are at it.
"""

AGENT = """\
def answer(skill, task, replicate):
    return "alpha" if skill is not None and "alpha" in skill.text else ""
"""


def snapshot(folder):
    """Every path below the folder: the bytes of files, the targets of links."""
    return {
        str(path.relative_to(folder)): path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def value_command(place, *flags):
    return [
        "value", str(place / "tiny"), "--tasks", str(place / "tasks.jsonl"), "--agent", f"python:{place}/agent.py:answer",
        "--operators", "delete", "--method", "chain", "-k", "4", "-b", "4", "--yes", "--quiet", *flags,
    ]  # fmt: skip


def write_project(place):
    """A user's skill, tasks and agent."""
    (place / "tiny").mkdir()
    (place / "tiny" / "SKILL.md").write_text(SKILL)
    (place / "agent.py").write_text(AGENT)
    lines = [{"id": f"t{n}", "input": "?", "target": "alpha", "verifier": "contains"} for n in range(8)]
    (place / "tasks.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return place


@pytest.fixture(scope="module")
def valued(tmp_path_factory):
    """A project with a finished run in `work/run`, once for the module."""
    place = write_project(tmp_path_factory.mktemp("valued"))
    assert run(value_command(place, "--run-dir", str(place / "work" / "run"))) == 0
    return place


@pytest.fixture
def project(valued, tmp_path, monkeypatch):
    """A copy of the project; its run was made from the skill in it. The user works in `desk` and lives in `home`."""
    place = tmp_path / "project"
    shutil.copytree(valued, place)
    manifest = place / "work" / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(valued), str(place)))
    for name in ("desk", "home"):
        (place / name).mkdir()
        (place / name / "diary.txt").write_text("dear diary")
    monkeypatch.chdir(place / "desk")
    monkeypatch.setenv("HOME", str(place / "home"))
    return place


def refused(project, capsys, *words):
    """Run a command that must be refused with one sentence and leave every byte as it was."""
    before = snapshot(project)
    capsys.readouterr()
    code = run([str(word) for word in words])
    said = capsys.readouterr().err
    assert snapshot(project) == before
    assert code == 2, said
    assert said.splitlines()[-1].startswith("skillsv: ")
    return said


TARGETS = [
    "work/run",
    "work",
    "work/run/skill",
    "tiny",
    ".",
    "desk",
    "home",
    "desk/../work/run",
    "linked",
    "work/run/nothing/..",
]


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("command", ["prune", "refine", "render"])
def test_what_the_user_has_is_never_replaced_by_an_output(project, capsys, command, target, force):
    (project / "linked").symlink_to(project / "work" / "run")
    given = {
        "prune": ("prune", project / "work/run"),
        "refine": ("refine", project / "work/run", "--mechanical", "--no-confirm"),
        "render": ("render", project / "tiny", "--keep", "all"),
    }
    refused(project, capsys, *given[command], "-o", project / target, *force)


def test_a_run_folder_says_why_it_is_no_target(project, capsys):
    said = refused(project, capsys, "prune", project / "work/run", "-o", project / "work/run", "--force")
    assert "holds a run" in said
    assert "--force" not in said


@pytest.mark.parametrize("left", ["manifest.json", "ledger.sqlite", "ledger.sqlite.lock"])
def test_one_file_of_a_run_is_enough_to_be_kept(project, capsys, left):
    other = project / "other"
    other.mkdir()
    shutil.copy(project / "work/run" / left, other)
    said = refused(project, capsys, "render", project / "tiny", "--keep", "all", "-o", other, "--force")
    assert "holds a run" in said


def test_a_folder_of_the_user_is_kept_although_its_manifest_is_not_ours(project, capsys):
    other = project / "other"
    other.mkdir()
    (other / "manifest.json").write_text('{"name": "an extension"}')
    said = refused(project, capsys, "render", project / "tiny", "--keep", "all", "-o", other, "--force")
    assert "was not written by skillsv" in said


def test_force_replaces_an_output_and_an_empty_folder(project, capsys):
    short = project / "short"
    short.mkdir()
    words = ["prune", str(project / "work/run"), "--share", "0.3", "-o", str(short), "--force", "--yes"]
    assert run(words) == 0
    first = snapshot(short)
    assert first["SKILL.md"]
    assert run(["render", str(project / "tiny"), "--keep", "all", "-o", str(short), "--force"]) == 0
    assert (short / "SKILL.md").read_text() == SKILL
    assert run(["render", str(project / "tiny"), "--keep", "all", "-o", str(short), "--force"]) == 0


def add_file(folder):
    (folder / "notes.txt").write_text("mine")


def edit_file(folder):
    (folder / "SKILL.md").write_text("mine")


def add_link(folder):
    (folder / "link").symlink_to(folder.parent / "tiny")


def put_run_inside(folder):
    shutil.copytree(folder.parent / "work" / "run", folder / ".skillsv" / "run")


def put_repository_inside(folder):
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


@pytest.mark.parametrize("change", [add_file, edit_file, add_link, put_run_inside, put_repository_inside])
def test_an_output_that_the_user_has_made_their_own_is_kept(project, capsys, change):
    mine = project / "mine"
    assert run(["render", str(project / "tiny"), "--keep", "all", "-o", str(project / "out")]) == 0
    (project / "out").rename(mine)
    change(mine)
    said = refused(project, capsys, "prune", project / "work/run", "-o", mine, "--force")
    assert "changed" in said


def test_an_output_changed_while_the_new_one_is_written_is_kept(project):
    from skillsv.errors import OutputError
    from skillsv.render.output import new_folder

    out = project / "out"
    with pytest.raises(OutputError), new_folder(out, skill=project / "tiny") as new:  # noqa: PT012 - the block is the race
        (new / "SKILL.md").write_text("new")
        out.mkdir()
        (out / "mine.txt").write_text("mine")
    assert snapshot(out) == {"mine.txt": b"mine"}


def test_the_mark_of_an_output_is_no_part_of_the_skill(project, capsys):
    out = project / "out"
    assert run(["render", str(project / "tiny"), "--keep", "all", "-o", str(out)]) == 0
    capsys.readouterr()
    assert run(["render", str(out), "--keep", "all", "--json"]) == 0
    assert [file["path"] for file in json.loads(capsys.readouterr().out)["files"]] == ["SKILL.md"]
    assert run(["lint", str(out / "SKILL.md"), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["skills"][0]["findings"]
    assert "single-file" not in [finding["code"] for finding in findings]


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite-wal", "manifest.json", "records.jsonl"])
def test_a_report_is_not_written_over_the_records_of_a_run(project, capsys, name):
    (project / "work/run/ledger.sqlite-wal").touch()
    said = refused(project, capsys, "report", project / "work/run", "-o", project / "work/run" / name)
    assert "belongs to a run" in said


def test_the_demo_leaves_a_folder_of_the_same_name_alone(project, capsys):
    place = project / "demo"
    (place / "shorter").mkdir(parents=True)
    (place / "shorter" / "SKILL.md").write_text("mine")
    shutil.copy(project / "work/run/ledger.sqlite", place)
    flags = [
        "--operators",
        "delete",
        "--max-rollouts",
        "600",
        "--granularity",
        "section",
        "--run-dir",
        str(place),
        "--quiet",
    ]
    for _ in range(2):
        assert run(["demo", *flags]) == 0
        assert f"Shorter skill: {place}/shorter-2" in capsys.readouterr().out
    assert snapshot(place / "shorter") == {"SKILL.md": b"mine"}


def of_user(folder):
    """A folder with the user's own files, named as those of a run are."""
    (folder / "skill").mkdir(parents=True)
    (folder / "skill" / "SKILL.md").write_text("mine")
    for name in ("report.html", "manifest.json", "records.jsonl", "notes.json", "ledger.sqlite"):
        (folder / name).write_text('{"mine": true}')
    return folder


@pytest.mark.parametrize("fresh", [(), ("--fresh",)], ids=["", "fresh"])
@pytest.mark.parametrize(
    "target", [".", "..", "../mine", "../tiny", "../tiny/run", "../tiny/SKILL.md", "../home", "../work"]
)
def test_a_run_is_not_put_into_a_folder_of_the_user(project, capsys, target, fresh):
    of_user(project / "mine")
    said = refused(project, capsys, *value_command(project, "--run-dir", target, *fresh))
    assert "--run-dir" in said


def test_a_probe_is_not_put_into_a_folder_of_the_user(project, capsys):
    words = (
        "plan",
        project / "tiny",
        "--tasks",
        project / "tasks.jsonl",
        "--agent",
        f"python:{project}/agent.py:answer",
    )
    for target in (of_user(project / "mine"), project / "tiny", project):
        refused(project, capsys, *words, "--probe", "--run-dir", target)


def test_the_default_run_folder_is_not_put_into_the_skill(project, capsys, monkeypatch):
    monkeypatch.chdir(project / "tiny")
    assert "inside the skill" in refused(project, capsys, *value_command(project))


def test_a_skill_inside_its_run_folder_is_not_set_aside(project, capsys):
    shutil.copytree(project / "tiny", project / "work/run/tiny")
    words = value_command(project, "--run-dir", str(project / "work/run"), "--seed", "5")
    words[1] = str(project / "work/run/tiny")
    assert "holds the skill" in refused(project, capsys, *words)


def test_the_run_of_another_skill_is_left_alone(project, capsys):
    shutil.copytree(project / "tiny", project / "other")
    words = value_command(project, "--run-dir", str(project / "work/run"))
    words[1] = str(project / "other")
    said = refused(project, capsys, *words)
    assert "tiny" in said
    assert "other" in said


@pytest.mark.parametrize("left", ["manifest.json", "ledger.sqlite", "ledger.sqlite.lock"])
def test_what_is_left_of_a_run_is_taken_up_again(project, left):
    folder = project / "copy"
    folder.mkdir()
    shutil.copy(project / "work/run" / left, folder)
    assert run(value_command(project, "--run-dir", str(folder))) == 0
    assert (folder / "valuation.json").is_file()


def test_an_edited_skill_keeps_its_run_folder(project):
    skill = project / "tiny/SKILL.md"
    skill.write_text(skill.read_text() + "- Be kind.\n")
    before = snapshot(project / "tiny")
    assert run(value_command(project, "--run-dir", str(project / "work/run"))) == 0
    assert len(list((project / "work/run/earlier").iterdir())) == 1
    assert snapshot(project / "tiny") == before


def test_a_report_is_not_written_into_the_skill(project, capsys):
    for name in ("SKILL.md", "report.html"):
        refused(project, capsys, "report", project / "work/run", "-o", project / "tiny" / name)


def link_to_diary(path):
    path.symlink_to(path.parent / "home" / "diary.txt")


PATCHES = {
    "file": lambda path: path.write_text("mine"),
    "empty": Path.touch,
    "folder": Path.mkdir,
    "link": link_to_diary,
}


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
@pytest.mark.parametrize("kind", PATCHES)
@pytest.mark.parametrize("command", [("prune",), ("refine", "--mechanical", "--no-confirm")], ids=["prune", "refine"])
def test_a_patch_of_the_user_is_not_overwritten(project, capsys, command, kind, force):
    PATCHES[kind](project / "short.patch")
    said = refused(project, capsys, *command, project / "work/run", "-o", project / "short", *force)
    assert "short.patch" in said


def test_an_editor_is_not_asked_where_its_patch_cannot_be_written(project, capsys):
    (project / "short.patch").write_text("mine")
    editor = f"command:touch {project}/asked"
    refused(
        project, capsys, "refine", project / "work/run", "--editor", editor, "--no-confirm", "-o", project / "short"
    )


def test_force_replaces_the_patch_of_the_output_before(project, capsys):
    words = ["prune", str(project / "work/run"), "-o", str(project / "short")]
    assert run([*words, "--share", "0.1"]) == 0
    first = (project / "short.patch").read_text()
    assert "-- " in first
    assert run([*words, "--share", "0.6", "--force", "--yes"]) == 0
    assert (project / "short.patch").read_text() != first
    shutil.rmtree(project / "short")
    refused(project, capsys, *words)
