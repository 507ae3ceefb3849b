"""The hooks, with the real pre-commit program on a local repository.

The hooks are cloned from a repository that holds `.pre-commit-hooks.yaml`. The configuration overrides their language by
`system`, so that this installation of skillsv runs: an own environment would download all dependencies again.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
SKILL = "---\nname: words\ndescription: Words to say.\n---\n\n# Words\n\n- Say alpha.\n- Say beta.\n"


def test_the_hooks_call_commands_that_are_there():
    hooks = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text())}
    assert set(hooks) == {"skillsv-lint", "skillsv-tokens"}
    for hook in hooks.values():
        assert hook["entry"].split()[0] == "skillsv"
        assert hook["language"] == "python"


def git(folder, *words, check=True):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *words]
    return subprocess.run(command, cwd=folder, check=check, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a skill, where pre-commit is installed with both hooks."""
    program = Path(sys.executable).with_name("pre-commit")
    if not program.exists():
        pytest.skip("pre-commit is not installed; `make test-all` installs it")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(HOOKS, hooks)
    git(hooks, "init", "-q", "-b", "main")
    git(hooks, "add", "-A")
    git(hooks, "commit", "-qm", "hooks")
    revision = git(hooks, "rev-parse", "HEAD").stdout.strip()
    folder = tmp_path / "repo"
    (folder / "skills" / "words").mkdir(parents=True)
    (folder / "skills" / "words" / "SKILL.md").write_text(SKILL)
    own = [{"id": "skillsv-lint", "language": "system"}]
    own.append({"id": "skillsv-tokens", "language": "system", "args": ["--token-limit", "40"]})
    config = {"repos": [{"repo": str(hooks), "rev": revision, "hooks": own}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(folder, "init", "-q", "-b", "main")
    subprocess.run([program, "install"], cwd=folder, check=True, capture_output=True)
    git(folder, "add", "-A")
    return folder


def commit(folder):
    git(folder, "add", "-A")
    return git(folder, "commit", "-m", "change", check=False)


@pytest.mark.heavy
def test_pre_commit_lints_skills_and_limits_their_tokens(repository):
    first = commit(repository)
    assert first.returncode == 0, first.stderr
    assert "lint agent skills" in first.stderr
    skill = repository / "skills" / "words" / "SKILL.md"
    skill.write_text(SKILL + "- Say gamma.\n")
    grown = commit(repository)
    assert grown.returncode == 0, grown.stderr
    assert "(+" in grown.stderr
    skill.write_text(SKILL + 20 * "- Say a word that nobody has asked for.\n")
    long = commit(repository)
    assert long.returncode
    assert "the limit is 40" in long.stderr
    skill.write_text(SKILL.replace("name: words\n", "name: ''\n"))
    wrong = commit(repository)
    assert wrong.returncode
    assert "exit code: 1" in wrong.stderr
    skill.write_text(SKILL)
    assert commit(repository).returncode == 0
