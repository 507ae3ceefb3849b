"""Each setting is declared once; flags, files, help and manifest read that declaration."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cyclopts
import pytest

import skillsv
from skillsv.cli.flags import AgentFlags, BudgetFlags, CompileFlags, EstimatorFlags, MatrixFlags, given
from skillsv.errors import SettingsError
from skillsv.settings import (
    DEFAULTS,
    EARLIER_BEHAVIOUR,
    RESULT_SETTINGS,
    SETTINGS,
    Settings,
    identity_settings,
    load_settings,
    settings_dict,
    settings_from,
)

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"

NEW_FIELD = (
    '    colour: Literal["red", "blue"] = agent("red", "free", "Colour of the answer [{default}].", short="-c")\n'
)

USE_NEW_FIELD = """
import json, pathlib, sys
from skillsv.cli import run
from skillsv.settings import identity_settings, load_settings, settings_dict
skill = pathlib.Path(sys.argv[1])
assert run(["plan", "--help"]) == 0
assert run(["plan", str(skill), "-c", "blue"]) == 0
assert run(["plan", str(skill), "--colour", "green"]) == 2
table = settings_dict(load_settings(skill, {}))
print(json.dumps({"manifest": table["colour"], "identity": "colour" in identity_settings(table)}))
"""


def parse_flags(*words):
    """The settings that these words on a command line give."""
    app = cyclopts.App(result_action="return_value")

    @app.default
    def command(
        compiler: CompileFlags | None = None,
        estimator: EstimatorFlags | None = None,
        agent: AgentFlags | None = None,
        matrix: MatrixFlags | None = None,
        budget: BudgetFlags | None = None,
    ):
        return given(compiler, estimator, agent, matrix, budget)

    return app(list(words), exit_on_error=False, print_error=False)


def words_for(name):
    """A text that the flag of a setting accepts, for each kind of setting."""
    special = {"markers": "<a>=</a>", "node_resources": "GPU=1", "tolerance": "off", "temperature": "off"}
    default = getattr(DEFAULTS, name)
    if name in special:
        return [special[name]]
    if isinstance(default, bool):
        return []
    return [SETTINGS[name].default_text or "1"]


@pytest.mark.parametrize("name", SETTINGS)
def test_each_setting_has_a_flag_that_sets_it(name):
    words = words_for(name)
    table = parse_flags(SETTINGS[name].flag, *words)
    assert list(table) == [name]
    assert (getattr(load_settings(Path("skill"), table), name) is None) == (words == ["off"])


@pytest.mark.parametrize("name", SETTINGS)
def test_each_setting_has_a_key_unless_it_is_a_flag_only(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "skillsv").mkdir()
    value = settings_dict(DEFAULTS)[name]
    written = {"markers": [["<a>", "</a>"]], "node_resources": "GPU=1"}.get(name, 1 if value is None else value)
    written = str(written) if "str" in str(Settings.__annotations__[name]) and value is None else written
    (tmp_path / "skillsv" / "skillsv.toml").write_text(f"{SETTINGS[name].key} = {json.dumps(written)}\n")
    if SETTINGS[name].trust == "flags only":
        with pytest.raises(SettingsError, match=f"{SETTINGS[name].flag} is never taken from a file"):
            load_settings(tmp_path / "skill", {})
    else:
        assert getattr(load_settings(tmp_path / "skill", {}), name) is not None


@pytest.mark.parametrize("name", SETTINGS)
def test_each_help_sentence_shows_the_default(name):
    info = SETTINGS[name]
    assert info.help_text.endswith(".")
    assert bool(info.default_text) == ("{default}" in info.help)
    assert not info.default_text or f"[{info.default_text}]" in info.help_text


@pytest.mark.heavy
def test_a_new_setting_is_one_field_in_the_tree(tmp_path):
    skill = tmp_path / "skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("- One.\n")
    (tmp_path / "skillsv.toml").write_text('colour = "blue"\n')
    copy = tmp_path / "source"
    shutil.copytree(Path(skillsv.__file__).parent, copy / "skillsv", ignore=shutil.ignore_patterns("__pycache__"))
    tree = copy / "skillsv" / "settings" / "tree.py"
    tree.write_text(tree.read_text().replace("    verifier: ", f"{NEW_FIELD}    verifier: ", 1))
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", USE_NEW_FIELD, str(skill)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "--colour, -c red|blue" in done.stdout
    assert "Colour of the answer [red]." in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == {"manifest": "blue", "identity": True}


def test_the_documentation_names_the_class_of_each_setting_it_lists():
    rows = [line.split("|") for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    classes = {row[1].strip(): row[2].split("`")[1::2] for row in rows}
    keys = {info.key: info.trust for info in SETTINGS.values()}
    for trust in ("free", "guarded", "flags only"):
        assert classes[trust]
        assert {keys[name] for name in classes[trust] if not name.endswith("...")} == {trust}


def test_a_setting_added_later_is_in_the_identity_only_if_not_default():
    usual, scoring = settings_dict(Settings()), settings_dict(Settings(cut_answers="score"))
    assert (
        set(scoring) >= set(RESULT_SETTINGS) == {*identity_settings(usual), *EARLIER_BEHAVIOUR} & set(RESULT_SETTINGS)
    )
    assert identity_settings(scoring) == {**identity_settings(usual), "cut_answers": "score"}


def test_settings_are_the_same_after_the_manifest():
    settings = load_settings(Path("skill"), {"panel_a": 0.5, "tolerance": "off", "markers": [("<a>", "</a>")]})
    assert settings_from(settings_dict(settings)) == settings


def test_hide_target_of_earlier_manifests_is_read():
    assert Settings().show_target is False
    for hidden in (True, False):
        assert settings_from({"orders": 5, "hide_target": hidden}).show_target is not hidden
    assert settings_from({"hide_target": True, "show_target": True}).show_target is True


def test_recorded_settings_keep_their_method():
    assert settings_from({"method": "auto", "orders": 5, "window": 3}).method == "auto"
    assert settings_from({"orders": 5}).method == "auto"


def test_manifests_hold_amounts_of_score_as_shares():
    recorded = {**settings_dict(Settings()), "resolution": 0.02, "until_width": 1.5}
    settings = settings_from(recorded)
    assert (settings.resolution, settings.until_width) == (0.02, 1.5)
    assert settings_dict(settings) == recorded
