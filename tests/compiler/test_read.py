"""Reading a skill from disk: which files belong to it, and which inputs are not a skill."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillsv.compiler import CompileOptions, compile_skill, read_skill
from skillsv.compiler import read as module
from skillsv.errors import SkillError
from skillsv.model.skill import FileRole, UnitKind


@pytest.fixture
def folder(tmp_path) -> Path:
    root = tmp_path / "demo"
    root.mkdir()
    (root / "SKILL.md").write_text("---\nname: demo\n---\ntext\n")
    return root


def _write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _roles(root: Path, options: CompileOptions | None = None) -> dict[str, str]:
    skill, _ = read_skill(root, options or CompileOptions())
    return {file.path: str(file.role) for file in skill.files}


def _codes(root: Path) -> list[tuple[str, str]]:
    return [(finding.code, finding.file) for finding in read_skill(root)[1]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "has no SKILL.md"),
        (lambda path: (path.mkdir(), (path / "SKILL.md").touch()), "is empty"),
        (lambda path: (path.mkdir(), (path / "SKILL.md").write_bytes(b"\xef\xbb\xbf \r\n\n")), "is empty"),
        (lambda path: path.write_text("not Markdown"), "neither a folder nor a Markdown file"),
        (lambda path: (path.mkdir(), (path / "SKILL.md").mkdir()), "not a regular file"),
        (lambda path: (path.mkdir(), (path / "SKILL.md").symlink_to("AGENTS.md")), "symbolic link"),
    ],
)
def test_an_input_that_is_not_a_skill_is_refused_with_a_hint(tmp_path, make, words):
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(SkillError, match=words) as raised:
        compile_skill(path)
    assert raised.value.hint
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "# Tea\n\n- a\n".encode("utf-16")])
def test_a_binary_file_with_a_markdown_name_is_refused(tmp_path, data):
    path = tmp_path / "picture.md"
    path.write_bytes(data)
    with pytest.raises(SkillError, match="not Markdown") as raised:
        read_skill(path)
    assert (raised.value.exit_code, raised.value.where) == (2, str(path))


def test_a_text_with_a_few_nul_or_invalid_bytes_is_accepted(tmp_path):
    path = tmp_path / "skill.md"
    for data in (b"# Tea\n\n- a\0b\n- c\0d\n", b"# T\xff\xfe\xfd\n\n- \xe9\xe8\n", "# Tee\n\n- \u8336\0\n".encode()):
        path.write_bytes(data)
        assert read_skill(path)[0].files[0].data == data


def test_an_unreadable_main_file_is_refused(folder, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SkillError, match="permission denied") as raised:
        read_skill(folder)
    assert raised.value.where == str(folder / "SKILL.md")


def test_a_single_markdown_file_is_a_skill_of_one_file(tmp_path):
    path = tmp_path / "best_skill.md"
    path.write_text("# T\n\n- a\n- b\n")
    (tmp_path / "other.md").write_text("not part of it")
    skill = compile_skill(path)
    assert skill.skill.single_file
    assert skill.skill.name == "best_skill"
    assert [file.path for file in skill.skill.files] == ["best_skill.md"]
    assert len(skill.execution) == 2


def test_legal_files_and_nested_skills_are_carried_along(folder):
    _write(folder, scripts__run_py="x", LICENSE="x", assets__NOTICE="x", inner__SKILL="x")
    _write(folder, **{"license-checker.py": "x", "LICENSE-MIT.txt": "x", "inner/SKILL.md": "x", "inner/deep/x.md": "x"})
    roles = _roles(folder)
    assert roles.pop("SKILL.md") == "main"
    assert {path for path, role in roles.items() if role == "resource"} == {"scripts/run_py", "license-checker.py"}
    assert {path for path, role in roles.items() if role == "carried"} == {
        *["LICENSE", "LICENSE-MIT.txt", "assets/NOTICE"],
        *["inner/SKILL", "inner/SKILL.md", "inner/deep/x.md"],
    }
    assert ("nested-skill", "inner") in _codes(folder)


def test_hidden_files_caches_and_answers_never_reach_the_agent(folder):
    _write(
        folder, **{".env": "x", ".git/config": "x", "__pycache__/a.pyc": "x", "a.pyc": "x", "node_modules/m.js": "x"}
    )
    _write(folder, **{"evals/evals.json": "answers", "sub/evals/more.json": "answers"})
    assert _roles(folder) == {"SKILL.md": "main"}
    assert _codes(folder) == [("evals", "evals"), ("evals", "sub/evals")]


def test_include_and_exclude_decide_what_is_a_unit(folder):
    _write(folder, **{"assets/a.png": "x", "assets/b.svg": "x", "scripts/run.py": "x"})
    assert _roles(folder, CompileOptions(exclude=("assets",)))["assets/a.png"] == "carried"
    only = _roles(folder, CompileOptions(include=("*.svg", "scripts/"), exclude=("scripts/run.py",)))
    assert {path for path, role in only.items() if role == "resource"} == {"assets/b.svg"}
    assert only["scripts/run.py"] == "carried"


def test_symlinks_are_never_followed(folder, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    (folder / "outside.md").symlink_to(tmp_path / "secret.md")
    (folder / "loop").symlink_to(folder)
    (folder / "broken").symlink_to("nowhere")
    assert _roles(folder) == {"SKILL.md": "main"}
    assert _codes(folder) == [("symlink", "broken"), ("symlink", "loop"), ("symlink", "outside.md")]


def test_a_link_that_appears_while_reading_is_not_followed(folder, tmp_path, monkeypatch):
    (tmp_path / "secret.md").write_text("secret")
    (folder / "late.md").symlink_to(tmp_path / "secret.md")
    monkeypatch.setattr(module, "walk", lambda root, main: iter([module.FolderFile("late.md", nested=False)]))
    skill, findings = read_skill(folder)
    assert [file.path for file in skill.files] == ["SKILL.md"]
    assert findings[0].code == "unreadable"


def test_a_pipe_is_left_out_and_not_opened(folder):
    os.mkfifo(folder / "pipe")
    assert _codes(folder) == [("special-file", "pipe")]


def test_an_unreadable_resource_is_left_out_with_a_warning(folder, monkeypatch):
    _write(folder, **{"a.md": "x", "b.md": "x"})
    real = os.open

    def refuse(path, *args, **kwargs):
        if str(path).endswith("a.md"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    assert list(_roles(folder)) == ["SKILL.md", "b.md"]
    assert _codes(folder) == [("unreadable", "a.md")]


def test_an_unreadable_folder_is_left_out_with_a_warning(folder, monkeypatch):
    _write(folder, **{"sub/a.md": "x"})
    real = os.scandir

    def refuse(path):
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert _codes(folder) == [("unreadable", "sub")]


def test_a_huge_resource_stays_on_disk(folder):
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    skill = compile_skill(folder)
    unit = skill.unit["huge.bin"]
    assert unit.flags == ("binary", "large")
    assert len(unit.span) == 64 * 1024 * 1024
    assert skill.skill.file("huge.bin").data is None
    assert skill.skill.file("huge.bin").origin == folder / "huge.bin"


def test_run_bits_are_kept(folder):
    _write(folder, **{"run.sh": "x", "read.md": "x"})
    (folder / "run.sh").chmod(0o755)
    skill, _ = read_skill(folder)
    assert skill.file("run.sh").executable
    assert not skill.file("read.md").executable


@pytest.mark.parametrize("name", ["skill.md", "Skill.MD"])
def test_case_variants_of_the_main_file_are_read_with_a_warning(tmp_path, name):
    (tmp_path / name).write_text("text")
    skill, findings = read_skill(tmp_path)
    assert skill.main == name
    assert [finding.code for finding in findings] == ["main-name"]


def test_skill_md_is_preferred_to_its_case_variants(folder):
    _write(folder, **{"skill.md": "x"})
    skill, _ = read_skill(folder)
    assert skill.main == "SKILL.md"
    assert skill.file("skill.md").role is FileRole.RESOURCE


def test_names_with_spaces_or_other_scripts_get_ascii_ids(folder):
    _write(folder, **{"docs/my guide.md": "x", "docs/表.md": "x", "docs/my-guide.md": "x"})
    skill = compile_skill(folder)
    ids = {unit.file: unit.id for unit in skill.units if unit.kind is UnitKind.RESOURCE}
    assert ids["docs/my-guide.md"] == "docs/my-guide.md"
    assert len(set(ids.values())) == 3
    assert all(name.isascii() and " " not in name for name in ids.values())


def test_a_name_that_is_not_utf8_is_left_out_with_a_warning(folder):
    (Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.md"))).write_text("x")
    assert [code for code, _ in _codes(folder)] == ["file-name"]
    assert list(_roles(folder)) == ["SKILL.md"]


def test_files_are_sorted_by_path(folder):
    _write(folder, **{"b.md": "x", "a/z.md": "x", "a.md": "x"})
    assert list(_roles(folder)) == ["SKILL.md", "a.md", "a/z.md", "b.md"]


def test_a_main_file_given_alone_is_reported_as_single_file(folder):
    _write(folder, **{"a.md": "x"})
    skill, findings = read_skill(folder / "SKILL.md")
    assert [file.path for file in skill.files] == ["SKILL.md"]
    assert [finding.code for finding in findings] == ["single-file"]


def test_links_of_a_single_file_to_other_files_are_not_dangling(tmp_path):
    (tmp_path / "AGENTS.md").write_text("See [docs](docs/x.md) and [gone](#gone).\n")
    findings = compile_skill(tmp_path / "AGENTS.md").findings
    assert [finding.message.split()[3] for finding in findings if finding.code == "dangling-link"] == ["#gone"]


def test_the_total_size_of_files_in_memory_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(module, "MAX_TOTAL_IN_MEMORY", 10)
    _write(folder, **{"a.md": "x" * 6, "b.md": "x" * 6, "c.md": "x" * 4})
    skill, _ = read_skill(folder)
    assert [file.path for file in skill.files if file.data is None] == ["b.md"]


def test_a_main_file_that_is_too_large_is_refused(folder, monkeypatch):
    monkeypatch.setattr(module, "MAX_MAIN_FILE", 3)
    with pytest.raises(SkillError, match="more than any agent can read"):
        read_skill(folder)
