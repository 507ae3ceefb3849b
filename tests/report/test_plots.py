import itertools
import warnings

import pytest

from skillsv.model.edit import CurvePoint, PruningCurve
from skillsv.model.value import Interval
from skillsv.report import plots
from skillsv.report.words import execution

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib (extra 'plot') is not installed")


@pytest.fixture
def ax(tmp_path):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    yield figure.subplots()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a font without a glyph is not what is tested
        figure.savefig(tmp_path / "drawn.png")


def curve(method, scores):
    points = tuple(
        CurvePoint(share_removed=index / (len(scores) - 1), tokens_left=9, score=Interval(s, s - 0.1, s + 0.1))
        for index, s in enumerate(scores)
    )
    return PruningCurve(method=method, points=points, auc=Interval(0.6, 0.5, 0.75))


def test_curves_are_drawn_in_points_and_the_axes_returned(ax):
    full, trigger = Interval(0.8, 0.7, 0.9), Interval(0.2, 0.1, 0.3)
    assert plots.pruning_curves(ax, [curve("skillsv", [0.8, 0.8, 0.2])], full=full, trigger=trigger) is ax
    line = ax.get_lines()[0]
    assert list(line.get_xdata()) == [0.0, 50.0, 100.0]
    assert list(line.get_ydata()) == [80.0, 80.0, 20.0]
    assert {text.get_text() for text in ax.texts} == {"V(N)", "V({m})"}


def test_areas_are_bars_with_intervals(ax):
    assert plots.area_summary(ax, [curve("skillsv", [0.8, 0.2]), curve("random", [0.5, 0.2])]) is ax
    assert [bar.get_height() for bar in ax.patches] == [60.0, 60.0]


def test_concentration_rises_to_the_whole(ax, case):
    assert plots.concentration(ax, {"parcels": case.valuation}) is ax
    heights = list(ax.get_lines()[0].get_ydata())
    assert heights == sorted(heights)
    assert heights[0] == 0.0
    assert heights[-1] == pytest.approx(100.0)
    steps = [after - before for before, after in itertools.pairwise(heights)]
    assert all(first >= second - 1e-9 for first, second in itertools.pairwise(steps))


def test_every_unit_has_its_line(ax, case):
    assert plots.unit_values(ax, case.valuation) is ax
    assert len(ax.get_yticklabels()) == len(execution(case.valuation))


def test_recovered_values_stand_against_the_truth(ax, case):
    truth = {unit.id: unit.value.net.value for unit in execution(case.valuation)}
    assert plots.recovered_values(ax, case.valuation, truth) is ax
    places = [container[0].get_xydata()[0] for container in ax.containers]
    assert all(x == pytest.approx(y) for x, y in places)
