"""Values of settings as people write them: words, lists, points of a hundred."""

from pathlib import Path

import pytest

from skillsv.errors import SettingsError
from skillsv.settings import load_settings, share_of_points, small_settings


@pytest.mark.parametrize("word", ["off", "none", "OFF"])
def test_tolerance_off_is_no_tolerance(word):
    assert load_settings(Path("skill"), {"tolerance": word}).tolerance is None


@pytest.mark.parametrize(("word", "size"), [("0.5", 0.5), ("60", 60), ("0", 0)])
def test_panels_are_numbers_of_tasks_or_shares(word, size):
    settings = load_settings(Path("skill"), {"panel_b": word})
    assert settings.panel_b == size
    assert type(settings.panel_b) is type(size)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"orders": 0}, "--orders cannot be used: expected int >= 1"),
        ({"tolerance": "much"}, "not a tolerance"),
        ({"operators": "pad"}, "do not make a valuation"),
        ({"operators": "erase"}, "--operators .* delete, pad"),
        ({"method": "fast"}, "--method .* auto, chain"),
        ({"temperature": "warm"}, "not a temperature.* or 'off'"),
        ({"node_resources": "GPU"}, "'GPU' is not an amount of a resource"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"resolution": 100}, "--resolution 100 is out of range: .* points between 0 and 100"),
        ({"resolution": -1}, "--resolution -1 is out of range"),
        ({"until_width": 300}, "--until-width 300 is out of range"),
        ({"until_width": float("nan")}, "--until-width nan is out of range"),
        ({"forward_env": "HOME,SKILLSV_SKILL"}, "SKILLSV_SKILL cannot be forwarded"),
    ],
)
def test_an_error_names_the_value_that_cannot_be_used(given, complaint):
    with pytest.raises(SettingsError, match=complaint):
        load_settings(Path("skill"), given)


def test_zero_and_a_hundred_points_are_refused_unless_allowed():
    assert [share_of_points(points, "--max-drop", ends=True) for points in (0, 100)] == [0, 1]
    for points in (0, 100):
        with pytest.raises(SettingsError, match="--max-drop"):
            share_of_points(points, "--max-drop")


def test_an_amount_that_looks_like_a_share_gets_a_note():
    settings = load_settings(Path("skill"), {"resolution": 0.15, "until_width": 2})
    assert small_settings(settings) == ["--resolution is 0.15 points of a hundred; did you mean 15?"]
