"""The table `[check]` of a settings file."""

import pytest

from skillsv.errors import SettingsError
from skillsv.settings import CheckSettings, guarded_settings, load_check_settings, load_settings
from skillsv.settings.check_table import read_check_table
from skillsv.trust import file_digest, trust_files


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "skills" / "words").mkdir(parents=True)
    return tmp_path / "skills" / "skillsv.toml"


def test_other_commands_ignore_the_table(file):
    file.write_text('orders = 5\n\n[check]\nagent = "command:./agent.sh"\n')
    assert load_settings(file.parent / "words", {}).orders == 5


def test_a_trusted_table_is_read_with_paths_that_start_at_the_file(file):
    file.write_text('[check]\ntasks = "tasks.jsonl"\nmax-drop = 3\n')
    skill = file.parent / "words"
    with pytest.raises(SettingsError, match="not trusted"):
        load_check_settings(skill, needed=True)
    assert load_check_settings(skill, needed=False) == CheckSettings()
    trust_files([(file, file_digest(file))])
    table = load_check_settings(skill, needed=True)
    assert (table.tasks, table.max_drop, table.agent) == (f"{file.parent}/tasks.jsonl", 3, None)
    file.write_text(file.read_text() + "\n")
    with pytest.raises(SettingsError, match="not trusted"):
        load_check_settings(skill, needed=True)


def test_tasks_of_each_skill_start_at_the_skill(file):
    file.write_text('[check]\ntasks = "{skill}/evals/tasks.jsonl"\n')
    assert read_check_table(file)[0].located(file.parent).tasks == "{skill}/evals/tasks.jsonl"


def test_the_users_own_file_needs_no_trust(file, tmp_path):
    own = tmp_path / "config" / "skillsv" / "skillsv.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[check]\nagent = "command:a"\n')
    assert load_check_settings(file.parent / "words", needed=True).agent == "command:a"


def test_trust_shows_what_the_table_names(file):
    file.write_text('[check]\nagent = "command:a"\n')
    assert guarded_settings(file)[0] == {"check.agent": "command:a"}


@pytest.mark.parametrize("text", ['[check]\nagents = "x"\n', "[check]\nmax-drop = 'two'\n", "check = 3\n", "[check\n"])
def test_a_table_that_cannot_be_used_is_refused(file, text):
    file.write_text(text)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_check_table(file)
