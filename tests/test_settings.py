from pathlib import Path

import pytest

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.settings import Settings, load_settings, settings_dict, settings_from


def test_flags_win_over_the_file_and_the_file_over_defaults(tmp_path):
    (tmp_path / "skillsv.toml").write_text('orders = 5\nwindow = 3\noperators = "delete"\npanel-b = 0\n')
    settings = load_settings(tmp_path / "skill", {"orders": 7, "window": None})
    assert (settings.orders, settings.window, settings.panel_b) == (7, 3, 0)
    assert settings.operators == (Operator.DELETE,)
    assert settings.tolerance == Settings().tolerance


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


def test_settings_survive_the_manifest():
    settings = load_settings(Path("skill"), {"panel_a": 0.5, "tolerance": "off", "markers": [("<a>", "</a>")]})
    assert settings_from(settings_dict(settings)) == settings


@pytest.mark.parametrize(("word", "size"), [("0.5", 0.5), ("60", 60), ("0", 0)])
def test_panels_are_sizes_or_shares_as_written(word, size):
    settings = load_settings(Path("skill"), {"panel_b": word})
    assert settings.panel_b == size
    assert type(settings.panel_b) is type(size)
