from pathlib import Path

import pytest

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.settings import (
    RESULT_SETTINGS,
    Settings,
    identity_settings,
    load_settings,
    settings_dict,
    settings_from,
    share_of_points,
    small_settings,
)


def test_flags_win_over_the_file_and_the_file_over_defaults(tmp_path):
    (tmp_path / "skillsv.toml").write_text('orders = 5\nwindow = 3\noperators = "delete"\npanel-b = 0\n')
    settings = load_settings(tmp_path / "skill", {"orders": 7, "window": None})
    assert (settings.orders, settings.window, settings.panel_b) == (7, 3, 0)
    assert settings.operators == (Operator.DELETE,)
    assert settings.tolerance == Settings().tolerance


@pytest.mark.parametrize(
    ("file", "flags", "method", "sentence"),
    [
        ("", {}, "auto", None),
        ("", {"orders": 3}, "chain", "selected by --orders."),
        ("", {"window": 3, "tolerance": "off"}, "chain", "selected by --window and --tolerance."),
        ("", {"orders": 3, "method": "chain"}, "chain", None),
        ("orders = 3", {}, "chain", "selected by --orders in skillsv.toml."),
        ('method = "auto"', {}, "auto", None),
        ('method = "auto"', {"orders": 3}, "chain", "selected by --orders."),
        ('method = "chain"\norders = 3', {"window": 3}, "chain", None),
        ("orders = 3", {"method": "auto"}, "auto", "--method auto does not use --orders in skillsv.toml."),
    ],
)
def test_settings_of_algorithm_one_select_chain_and_say_so(tmp_path, file, flags, method, sentence):
    (tmp_path / "skillsv.toml").write_text(file)
    sentences = []
    assert load_settings(tmp_path / "skill", flags, sentences.append).method == method
    assert len(sentences) == (sentence is not None)
    assert all(said.endswith(sentence) for said in sentences)


@pytest.mark.parametrize("name", ["orders", "window", "tolerance"])
def test_a_setting_of_algorithm_one_together_with_auto_is_refused(tmp_path, name):
    with pytest.raises(SettingsError, match=f"--method auto does not use --{name}"):
        load_settings(tmp_path / "skill", {name: "1", "method": "auto"})
    (tmp_path / "skillsv.toml").write_text(f'method = "auto"\n{name} = 1\n')
    with pytest.raises(SettingsError, match=rf"skillsv\.toml.*--method auto does not use --{name}"):
        load_settings(tmp_path / "skill", {})


def test_recorded_settings_keep_their_method():
    assert settings_from({"method": "auto", "orders": 5, "window": 3}).method == "auto"
    assert settings_from({"orders": 5}).method == "auto"


def test_the_file_beside_the_skill_wins_over_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "skillsv").mkdir(parents=True)
    (tmp_path / "config" / "skillsv" / "skillsv.toml").write_text("orders = 5\nseed = 7\nmax-rollouts = 9\n")
    (tmp_path / "skillsv.toml").write_text("orders = 6\nseed = 8\n")
    settings = load_settings(tmp_path / "skill", {"seed": 1})
    assert (settings.orders, settings.seed, settings.max_rollouts) == (6, 1, 9)


def test_an_error_names_the_file_it_stands_in(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "skillsv" / "skillsv.toml"
    own.parent.mkdir(parents=True)
    own.write_text("orders = 0\n")
    (tmp_path / "skillsv.toml").write_text("seed = 8\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "skill", {})
    assert caught.value.where == str(own)


@pytest.mark.parametrize("word", ["off", "none", "OFF"])
def test_tolerance_can_be_switched_off_in_words(word):
    assert load_settings(Path("skill"), {"tolerance": word}).tolerance is None


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"orders": 0}, "--orders cannot be used: expected int >= 1"),
        ({"tolerance": "much"}, "not a tolerance"),
        ({"operators": "pad"}, "do not make a valuation"),
        ({"operators": "erase"}, "--operators .* delete, pad"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"resolution": 100}, "--resolution 100 cannot be meant: .* points between 0 and 100"),
        ({"resolution": -1}, "--resolution -1 cannot be meant"),
        ({"until_width": 300}, "--until-width 300 cannot be meant"),
        ({"until_width": float("nan")}, "--until-width nan cannot be meant"),
        ({"forward_env": "HOME,SKILLSV_SKILL"}, "SKILLSV_SKILL cannot be forwarded"),
    ],
)
def test_what_cannot_be_used_is_named(given, complaint):
    with pytest.raises(SettingsError, match=complaint):
        load_settings(Path("skill"), given)


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "skillsv.toml").write_text("orders = = 3\n")
    with pytest.raises(SettingsError, match=r"skillsv\.toml"):
        load_settings(tmp_path / "skill", {})


def test_a_setting_added_later_is_in_the_identity_only_where_it_differs():
    usual, scoring = settings_dict(Settings()), settings_dict(Settings(cut_answers="score"))
    assert set(scoring) >= set(RESULT_SETTINGS) == {*identity_settings(usual), "cut_answers"}
    assert identity_settings(scoring) == {**identity_settings(usual), "cut_answers": "score"}


def test_settings_survive_the_manifest():
    settings = load_settings(Path("skill"), {"panel_a": 0.5, "tolerance": "off", "markers": [("<a>", "</a>")]})
    assert settings_from(settings_dict(settings)) == settings


def test_the_target_is_hidden_as_an_earlier_manifest_recorded_it():
    assert Settings().show_target is False
    for hidden in (True, False):
        assert settings_from({"orders": 5, "hide_target": hidden}).show_target is not hidden
    assert settings_from({"hide_target": True, "show_target": True}).show_target is True


@pytest.mark.parametrize("hidden", ["true", "false"])
def test_a_file_never_shows_the_target(tmp_path, hidden):
    (tmp_path / "skillsv.toml").write_text(f"orders = 5\nhide-target = {hidden}\n")
    settings = load_settings(tmp_path / "skill", {})
    assert (settings.orders, settings.show_target) == (5, False)
    assert load_settings(tmp_path / "skill", {"show_target": True}).show_target is True
    (tmp_path / "skillsv.toml").write_text("show-target = true\n")
    with pytest.raises(SettingsError, match="--show-target is never taken from a file"):
        load_settings(tmp_path / "skill", {})


@pytest.mark.parametrize(("word", "size"), [("0.5", 0.5), ("60", 60), ("0", 0)])
def test_panels_are_sizes_or_shares_as_written(word, size):
    settings = load_settings(Path("skill"), {"panel_b": word})
    assert settings.panel_b == size
    assert type(settings.panel_b) is type(size)


def test_flags_and_file_give_amounts_of_score_in_points(tmp_path):
    (tmp_path / "skillsv.toml").write_text("resolution = 2.3\nuntil-width = 5\n")
    settings = load_settings(tmp_path / "skill", {"until_width": 3})
    assert (settings.resolution, settings.until_width) == (0.023, 0.03)


def test_an_amount_in_the_file_that_cannot_be_meant_names_the_file(tmp_path):
    (tmp_path / "skillsv.toml").write_text("resolution = 250\n")
    with pytest.raises(SettingsError, match=r"skillsv\.toml"):
        load_settings(tmp_path / "skill", {})


def test_manifests_hold_amounts_of_score_as_shares():
    recorded = {**settings_dict(Settings()), "resolution": 0.02, "until_width": 1.5}
    settings = settings_from(recorded)
    assert (settings.resolution, settings.until_width) == (0.02, 1.5)
    assert settings_dict(settings) == recorded


def test_zero_and_a_hundred_points_are_amounts_only_where_allowed():
    assert [share_of_points(points, "--max-drop", ends=True) for points in (0, 100)] == [0, 1]
    for points in (0, 100):
        with pytest.raises(SettingsError, match="--max-drop"):
            share_of_points(points, "--max-drop")


def test_an_amount_that_looks_like_a_share_gets_a_note():
    settings = load_settings(Path("skill"), {"resolution": 0.15, "until_width": 2})
    assert small_settings(settings) == ["--resolution is 0.15 points of a hundred; did you mean 15?"]
