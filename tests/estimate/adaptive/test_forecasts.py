import numpy as np

from skillsv.estimate.adaptive.forecasts import HiddenChance, Stretch, replay_forecasts


def stretches(rows, full=0b111):
    masks, scores, probes = zip(*rows, strict=True)
    return replay_forecasts(masks, scores, np.array(probes), full)


def test_clean_probes_are_counted_until_a_forecast_fails():
    rows = [(0b000, 0.0, False), (0b111, 0.0, False), (0b001, 0.0, True), (0b010, 0.0, True), (0b011, 0.6, True)]
    assert stretches(rows) == [
        Stretch(some=False, clean=2, failure=0.6),
        Stretch(some=True, clean=0, failure=None),
    ]


def test_nothing_is_forecast_between_different_anchors_without_a_deciding_unit():
    rows = [(0b000, 0.0, False), (0b111, 1.0, False), (0b100, 0.0, True)]
    assert stretches(rows) == [Stretch(some=False, clean=0, failure=None)]


def test_a_pattern_that_was_never_scored_is_not_forecast():
    rows = [(0b000, 0.0, False), (0b001, 1.0, False), (0b111, 1.0, False), (0b010, 0.0, True), (0b011, 1.0, True)]
    assert stretches(rows) == [Stretch(some=True, clean=2, failure=None)]


def test_the_chance_falls_with_clean_probes_and_rises_with_failures():
    clean = [Stretch(some=True, clean=6, failure=None)] * 20
    failing = [Stretch(some=True, clean=1, failure=1.0)] * 20
    counts = np.array([0.0, 3.0, 10.0])
    few, many = HiddenChance(clean).after(counts), HiddenChance([*clean, *failing]).after(counts)
    assert (np.diff(few) < 0).all()
    assert (many > few).all()
    assert few[0] < 0.15
    assert many[0] > 0.3


def test_without_any_probe_the_chance_is_the_usual_one():
    chance = HiddenChance([]).after(np.array([0.0]))[0]
    assert 0.1 < chance < 0.4


def test_after_many_clean_probes_a_hidden_unit_is_less_likely_than_one_but_not_impossible():
    """Chances differ from task to task: the ten times longer stretch rules out less than ten times as much."""
    learned = HiddenChance(
        [Stretch(some=True, clean=1, failure=1.0)] * 10 + [Stretch(some=True, clean=9, failure=None)]
    )
    after = learned.after(np.array([1.0, 10.0, 100.0]))
    assert after[2] > after[1] / 10 > 0


def test_the_share_that_is_expected_counts_while_there_are_no_probes():
    counts = np.array([0.0])
    assert HiddenChance([], 0.02).after(counts)[0] < HiddenChance([]).after(counts)[0] / 2
