"""Folders to which commands write: no file of the user is replaced, moved or changed.

Most tests compare the bytes of all files of the user before and after a command.
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
    """All paths below the folder, with the bytes of files and the targets of links."""
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
def valued_project(tmp_path_factory):
    """A project with a finished run in `work/run`, made once for all tests."""
    place = write_project(tmp_path_factory.mktemp("valued"))
    assert run(value_command(place, "--run-dir", str(place / "work" / "run"))) == 0
    return place


@pytest.fixture
def project(valued_project, tmp_path, monkeypatch):
    """A copy of the project and its run. The current folder is `current`, the user's home is `home`."""
    place = tmp_path / "project"
    shutil.copytree(valued_project, place)
    manifest = place / "work" / "run" / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(valued_project), str(place)))
    for name in ("current", "home"):
        (place / name).mkdir()
        (place / name / "diary.txt").write_text("dear diary")
    monkeypatch.chdir(place / "current")
    monkeypatch.setenv("HOME", str(place / "home"))
    return place


def refused(project, capsys, *words):
    """Run a command that must be refused and must change no file. Returns the error message."""
    before = snapshot(project)
    capsys.readouterr()
    code = run([str(word) for word in words])
    message = capsys.readouterr().err
    assert snapshot(project) == before
    assert code == 2, message
    assert message.splitlines()[-1].startswith("skillsv: ")
    return message


TARGETS = [
    "work/run",
    "work",
    "work/run/skill",
    "tiny",
    ".",
    "current",
    "home",
    "current/../work/run",
    "linked",
    "work/run/nothing/..",
]


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "force"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("command", ["prune", "refine", "render"])
def test_output_never_replaces_a_folder_of_the_user(project, capsys, command, target, force):
    (project / "linked").symlink_to(project / "work" / "run")
    given = {
        "prune": ("prune", project / "work/run"),
        "refine": ("refine", project / "work/run", "--mechanical", "--no-confirm"),
        "render": ("render", project / "tiny", "--keep", "all"),
    }
    refused(project, capsys, *given[command], "-o", project / target, *force)


def test_run_folder_as_output_is_refused_with_the_reason(project, capsys):
    message = refused(project, capsys, "prune", project / "work/run", "-o", project / "work/run", "--force")
    assert "holds a run" in message
    assert "--force" not in message


@pytest.mark.parametrize("file_name", ["manifest.json", "ledger.sqlite", "ledger.sqlite.lock"])
def test_folder_with_one_file_of_a_run_is_kept(project, capsys, file_name):
    other = project / "other"
    other.mkdir()
    shutil.copy(project / "work/run" / file_name, other)
    message = refused(project, capsys, "render", project / "tiny", "--keep", "all", "-o", other, "--force")
    assert "holds a run" in message


def test_folder_with_a_manifest_of_another_program_is_kept(project, capsys):
    other = project / "other"
    other.mkdir()
    (other / "manifest.json").write_text('{"name": "an extension"}')
    message = refused(project, capsys, "render", project / "tiny", "--keep", "all", "-o", other, "--force")
    assert "was not written by skillsv" in message


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
def test_output_that_the_user_changed_is_kept(project, capsys, change):
    mine = project / "mine"
    assert run(["render", str(project / "tiny"), "--keep", "all", "-o", str(project / "out")]) == 0
    (project / "out").rename(mine)
    change(mine)
    message = refused(project, capsys, "prune", project / "work/run", "-o", mine, "--force")
    assert "changed" in message


def test_output_that_changes_during_the_write_is_kept(project):
    from skillsv.errors import OutputError
    from skillsv.rendering.output import new_folder

    out = project / "out"
    with pytest.raises(OutputError), new_folder(out, skill=project / "tiny") as new:  # noqa: PT012 - the block is the race
        (new / "SKILL.md").write_text("new")
        out.mkdir()
        (out / "mine.txt").write_text("mine")
    assert snapshot(out) == {"mine.txt": b"mine"}


def test_hidden_file_of_an_output_is_not_part_of_the_skill(project, capsys):
    out = project / "out"
    assert run(["render", str(project / "tiny"), "--keep", "all", "-o", str(out)]) == 0
    capsys.readouterr()
    assert run(["render", str(out), "--keep", "all", "--json"]) == 0
    assert [file["path"] for file in json.loads(capsys.readouterr().out)["files"]] == ["SKILL.md"]
    assert run(["lint", str(out / "SKILL.md"), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["skills"][0]["findings"]
    assert "single-file" not in [finding["code"] for finding in findings]


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite-wal", "manifest.json", "records.jsonl"])
def test_report_is_not_written_over_a_file_of_a_run(project, capsys, name):
    (project / "work/run/ledger.sqlite-wal").touch()
    message = refused(project, capsys, "report", project / "work/run", "-o", project / "work/run" / name)
    assert "belongs to a run" in message


@pytest.mark.heavy
def test_demo_does_not_replace_a_folder_of_the_same_name(project, capsys):
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


def write_user_files(folder):
    """Write files of the user that have the same names as the files of a run."""
    (folder / "skill").mkdir(parents=True)
    (folder / "skill" / "SKILL.md").write_text("mine")
    for name in ("report.html", "manifest.json", "records.jsonl", "notes.json", "ledger.sqlite"):
        (folder / name).write_text('{"mine": true}')
    return folder


@pytest.mark.parametrize("fresh", [(), ("--fresh",)], ids=["", "fresh"])
@pytest.mark.parametrize(
    "target", [".", "..", "../mine", "../tiny", "../tiny/run", "../tiny/SKILL.md", "../home", "../work"]
)
def test_run_is_not_written_to_a_folder_of_the_user(project, capsys, target, fresh):
    write_user_files(project / "mine")
    message = refused(project, capsys, *value_command(project, "--run-dir", target, *fresh))
    assert "--run-dir" in message


def test_probe_is_not_written_to_a_folder_of_the_user(project, capsys):
    words = (
        "plan",
        project / "tiny",
        "--tasks",
        project / "tasks.jsonl",
        "--agent",
        f"python:{project}/agent.py:answer",
    )
    for target in (write_user_files(project / "mine"), project / "tiny", project):
        refused(project, capsys, *words, "--probe", "--run-dir", target)


def test_default_run_folder_inside_the_skill_is_refused(project, capsys, monkeypatch):
    monkeypatch.chdir(project / "tiny")
    assert "inside the skill" in refused(project, capsys, *value_command(project))


def test_run_folder_that_contains_the_skill_is_refused(project, capsys):
    shutil.copytree(project / "tiny", project / "work/run/tiny")
    words = value_command(project, "--run-dir", str(project / "work/run"), "--seed", "5")
    words[1] = str(project / "work/run/tiny")
    assert "holds the skill" in refused(project, capsys, *words)


def test_run_folder_of_another_skill_is_refused(project, capsys):
    shutil.copytree(project / "tiny", project / "other")
    words = value_command(project, "--run-dir", str(project / "work/run"))
    words[1] = str(project / "other")
    message = refused(project, capsys, *words)
    assert "tiny" in message
    assert "other" in message


@pytest.mark.parametrize("file_name", ["manifest.json", "ledger.sqlite", "ledger.sqlite.lock"])
def test_remains_of_a_run_are_continued(project, file_name):
    folder = project / "copy"
    folder.mkdir()
    shutil.copy(project / "work/run" / file_name, folder)
    assert run(value_command(project, "--run-dir", str(folder))) == 0
    assert (folder / "valuation.json").is_file()


def test_edited_skill_keeps_its_run_folder(project):
    skill = project / "tiny/SKILL.md"
    skill.write_text(skill.read_text() + "- Be kind.\n")
    before = snapshot(project / "tiny")
    assert run(value_command(project, "--run-dir", str(project / "work/run"))) == 0
    assert len(list((project / "work/run/earlier").iterdir())) == 1
    assert snapshot(project / "tiny") == before


def test_report_is_not_written_into_the_skill(project, capsys):
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
def test_patch_file_of_the_user_is_not_overwritten(project, capsys, command, kind, force):
    PATCHES[kind](project / "short.patch")
    message = refused(project, capsys, *command, project / "work/run", "-o", project / "short", *force)
    assert "short.patch" in message


def test_editor_is_not_called_if_the_patch_cannot_be_written(project, capsys):
    (project / "short.patch").write_text("mine")
    editor = f"command:touch {project}/asked"
    refused(
        project, capsys, "refine", project / "work/run", "--editor", editor, "--no-confirm", "-o", project / "short"
    )


def test_force_replaces_the_patch_of_an_earlier_output(project, capsys):
    words = ["prune", str(project / "work/run"), "-o", str(project / "short")]
    assert run([*words, "--share", "0.1"]) == 0
    first = (project / "short.patch").read_text()
    assert "-- " in first
    assert run([*words, "--share", "0.6", "--force", "--yes"]) == 0
    assert (project / "short.patch").read_text() != first
    shutil.rmtree(project / "short")
    refused(project, capsys, *words)
