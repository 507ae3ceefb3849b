"""The list of trusted files, and the skill folder that contains a file."""

import pytest

from skillsv.errors import SettingsError
from skillsv.trust import (
    config_folder,
    file_digest,
    is_trusted,
    local_salt,
    skill_folder_of,
    trust_files,
    was_trusted,
)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_trust_is_for_one_path_with_one_digest(tmp_path):
    file, other = tmp_path / "a.toml", tmp_path / "b.toml"
    for path in (file, other):
        path.write_text("seed = 1\n")
    trust_files([(file, file_digest(file))])
    trust_files([(tmp_path / "c", "0" * 64)])
    assert is_trusted(file, file_digest(file))
    assert not is_trusted(other, file_digest(other))
    file.write_text("seed = 2\n")
    assert not is_trusted(file, file_digest(file))
    assert was_trusted(file)


def test_damaged_list_is_named_in_the_error(tmp_path):
    config_folder().mkdir(parents=True)
    (config_folder() / "trusted.json").write_text('{"files": ["a"]}')
    with pytest.raises(SettingsError, match=r"trusted\.json"):
        is_trusted(tmp_path / "a", "0")


def test_skill_folder_is_found_by_path_and_by_resolved_link(tmp_path):
    skill = tmp_path / "skill"
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").touch()
    (skill / "evals" / "evals.json").touch()
    (tmp_path / "outside.json").touch()
    (tmp_path / "link.json").symlink_to(skill / "evals" / "evals.json")
    (skill / "leaving.json").symlink_to(tmp_path / "outside.json")
    assert skill_folder_of(skill / "evals" / "evals.json") == skill
    assert skill_folder_of(tmp_path / "link.json") == skill
    assert skill_folder_of(skill / "leaving.json") == skill
    assert skill_folder_of(tmp_path / "outside.json") is None


def test_the_salt_is_made_once_and_only_its_user_may_read_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    salt = local_salt()
    assert local_salt() == salt
    assert len(salt) == 64
    assert (tmp_path / "skillsv" / "salt").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "skillsv").iterdir()] == ["salt"]


def test_users_have_different_salts_unless_a_variable_names_one(tmp_path, monkeypatch):
    salts = set()
    for name in ("one", "two"):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / name))
        salts.add(local_salt())
    assert len(salts) == 2
    monkeypatch.setenv("SKILLSV_SALT", "shared")
    assert local_salt() == b"shared"


def test_a_damaged_salt_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    local_salt()
    (tmp_path / "skillsv" / "salt").write_text("")
    with pytest.raises(SettingsError, match="incomplete"):
        local_salt()
