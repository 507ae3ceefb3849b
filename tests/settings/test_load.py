"""Settings from defaults, files and flags: which source wins, what a file may not set, which method they select."""

import pytest

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.settings import Settings, load_settings


def test_flags_win_over_files_and_files_over_defaults(tmp_path):
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
def test_chain_settings_select_chain_with_a_note(tmp_path, file, flags, method, sentence):
    (tmp_path / "skillsv.toml").write_text(file)
    sentences = []
    assert load_settings(tmp_path / "skill", flags, sentences.append).method == method
    assert len(sentences) == (sentence is not None)
    assert all(note.endswith(sentence) for note in sentences)


@pytest.mark.parametrize("name", ["orders", "window", "tolerance"])
def test_chain_settings_with_method_auto_are_refused(tmp_path, name):
    with pytest.raises(SettingsError, match=f"--method auto does not use --{name}"):
        load_settings(tmp_path / "skill", {name: "1", "method": "auto"})
    (tmp_path / "skillsv.toml").write_text(f'method = "auto"\n{name} = 1\n')
    with pytest.raises(SettingsError, match=rf"skillsv\.toml.*--method auto does not use --{name}"):
        load_settings(tmp_path / "skill", {})


def test_the_file_beside_the_skill_wins_over_the_users_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "skillsv").mkdir(parents=True)
    (tmp_path / "config" / "skillsv" / "skillsv.toml").write_text("orders = 5\nseed = 7\nmax-rollouts = 9\n")
    (tmp_path / "skillsv.toml").write_text("orders = 6\nseed = 8\n")
    settings = load_settings(tmp_path / "skill", {"seed": 1})
    assert (settings.orders, settings.seed, settings.max_rollouts) == (6, 1, 9)


def test_an_error_names_the_file_with_the_wrong_value(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "skillsv" / "skillsv.toml"
    own.parent.mkdir(parents=True)
    own.write_text("orders = 0\n")
    (tmp_path / "skillsv.toml").write_text("seed = 8\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "skill", {})
    assert caught.value.where == str(own)


def test_an_error_names_a_file_that_is_not_toml(tmp_path):
    (tmp_path / "skillsv.toml").write_text("orders = = 3\n")
    with pytest.raises(SettingsError, match=r"skillsv\.toml"):
        load_settings(tmp_path / "skill", {})


@pytest.mark.parametrize("hidden", ["true", "false"])
def test_no_file_can_show_the_target(tmp_path, hidden):
    (tmp_path / "skillsv.toml").write_text(f"orders = 5\nhide-target = {hidden}\n")
    settings = load_settings(tmp_path / "skill", {})
    assert (settings.orders, settings.show_target) == (5, False)
    assert load_settings(tmp_path / "skill", {"show_target": True}).show_target is True
    (tmp_path / "skillsv.toml").write_text("show-target = true\n")
    with pytest.raises(SettingsError, match="--show-target is never taken from a file"):
        load_settings(tmp_path / "skill", {})


def test_flags_and_files_give_amounts_of_score_in_points(tmp_path):
    (tmp_path / "skillsv.toml").write_text("resolution = 2.3\nuntil-width = 5\n")
    settings = load_settings(tmp_path / "skill", {"until_width": 3})
    assert (settings.resolution, settings.until_width) == (0.023, 0.03)


def test_an_amount_out_of_range_names_its_file(tmp_path):
    (tmp_path / "skillsv.toml").write_text("resolution = 250\n")
    with pytest.raises(SettingsError, match=r"skillsv\.toml"):
        load_settings(tmp_path / "skill", {})


@pytest.mark.parametrize("given", [{"until_width": 5}, {"until_resolved": 0.9}])
def test_stop_rules_of_auto_are_refused_with_chain(tmp_path, given):
    with pytest.raises(SettingsError, match="the method chain does not use --until-"):
        load_settings(tmp_path / "skill", {**given, "orders": 8})
    assert load_settings(tmp_path / "skill", given).method == "auto"


def test_a_stop_rule_of_auto_in_a_file_is_named_where_chain_ignores_it(tmp_path):
    (tmp_path / "skillsv.toml").write_text("until-width = 5\n")
    notes = []
    load_settings(tmp_path / "skill", {"method": "chain"}, note=notes.append)
    assert notes == ["The method chain does not use --until-width in skillsv.toml."]


@pytest.mark.parametrize(
    ("flags", "recorded", "operators", "notes"),
    [
        ({}, None, "delete,pad", 0),
        ({"max_rollouts": 400}, None, "delete", 1),
        ({"max_rollouts": 2400}, None, "delete,pad", 0),
        ({"max_rollouts": 400, "operators": "delete,pad"}, None, "delete,pad", 0),
        ({"max_rollouts": 400, "method": "chain"}, None, "delete,pad", 0),
        ({"max_rollouts": 4000}, {"method": "auto", "operators": ["delete"]}, "delete", 0),
        ({"max_rollouts": 400}, {"method": "auto", "operators": ["delete", "pad"]}, "delete,pad", 0),
        ({"max_rollouts": 400}, {"method": "chain", "operators": ["delete", "pad"]}, "delete", 1),
    ],
)
def test_a_small_budget_measures_deletion_and_offers_the_rest(tmp_path, flags, recorded, operators, notes):
    sentences = []
    settings = load_settings(tmp_path / "skill", flags, sentences.append, recorded=recorded)
    assert ",".join(settings.operators) == operators
    assert [("--operators delete,pad" in sentence) for sentence in sentences] == [True] * notes


def test_operators_in_a_file_hold_for_a_small_budget(tmp_path):
    (tmp_path / "skillsv.toml").write_text('operators = "delete,pad"\n')
    settings = load_settings(tmp_path / "skill", {"max_rollouts": 400})
    assert settings.operators == (Operator.DELETE, Operator.PAD)
