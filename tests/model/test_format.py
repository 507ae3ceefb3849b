import math
from pathlib import Path

import pytest

import skillsv
from skillsv.model.format import (
    bounds,
    count,
    decimal,
    duration,
    file_size,
    money,
    percent,
    plural,
    points,
    short_number,
    short_points,
    task_score,
    usage_parts,
    with_bounds,
)
from skillsv.model.rollout import Usage
from skillsv.model.value import Interval


def test_points_are_hundredths_with_a_sign():
    assert points(0.1234) == "+12.3"
    assert points(-0.05) == "−5.0"
    assert points(-0.00001) == "0.0"
    assert points(0.9, signed=False) == "90.0"
    assert points(math.nan) == points(math.inf) == points(None) == "–"
    assert points(0.05, digits=0) == "+5"


def test_an_interval_shows_its_value_and_both_ends():
    assert with_bounds(Interval(-0.01, -0.05, 0.03)) == "−1.0 [−5.0, +3.0]"
    assert with_bounds(Interval(0.5, 0.4, 0.6), signed=False) == "50.0 [40.0, 60.0]"
    assert bounds(Interval(0.0, -math.inf, 0.03)) == "[–, +3.0]"


def test_thresholds_are_as_short_as_possible():
    assert [short_points(share) for share in (0.02, 0.025, 0.07)] == ["2", "2.5", "7"]
    assert [short_number(value) for value in (95.0, 99.9, -2.5)] == ["95", "99.9", "−2.5"]


def test_every_negative_number_has_the_same_minus_sign():
    texts = [decimal(-0.5, digits=2), points(-0.5), short_number(-0.5), percent(-0.5), count(-5)]
    assert texts == ["−0.50", "−50.0", "−0.5", "−50%", "−5"]


def test_decimals_have_a_plus_sign_only_if_asked():
    assert decimal(0.5, digits=2, signed=True) == "+0.50"
    assert decimal(0.0004, digits=3) == "0.000"


def test_counts_separate_thousands_and_name_one_thing_in_the_singular():
    assert plural(1, "unit") == "1 unit"
    assert plural(2304, "rollout") == "2,304 rollouts"
    assert percent(0.314) == "31%"
    assert [task_score(score) for score in (1.0, 0.5, 1 / 3)] == ["1", "0.5", "0.33"]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (600, "10 min"), (11_100, "3 h 5 min")])
def test_durations_use_the_unit_that_people_use(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(6, "6 bytes"), (17_600, "17.6 kB"), (3_000_000, "3.0 MB"), (12_345_000_000, "12.3 GB")]
)
def test_file_sizes_use_decimal_units(size, text):
    assert file_size(size) == text


def test_unknown_usage_is_not_shown_as_zero():
    assert usage_parts(Usage()) == []
    assert usage_parts(Usage(usd=0.0)) == ["$0.00"]
    assert usage_parts(Usage(input_tokens=1_000)) == ["1,000 tokens"]
    assert usage_parts(Usage(input_tokens=1_000, output_tokens=50, usd=0.25)) == ["1,050 tokens", "$0.25"]
    assert money(0.00012, digits=4) == "$0.0001"


def test_no_other_module_formats_signed_numbers():
    root = Path(skillsv.__file__).parent
    formatted = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if ":+." in path.read_text("utf-8")}
    assert formatted == set()
