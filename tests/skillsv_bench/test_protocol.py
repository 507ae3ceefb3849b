"""The settings of a benchmark run."""

from skillsv_bench.protocol import paper_settings
from skillsv_bench.registry import find_benchmark


def test_flags_of_a_benchmark_give_amounts_of_score_in_points():
    settings, _ = paper_settings(find_benchmark("livemath"), 100, {"resolution": 2, "until_width": 3.0})
    assert (settings.resolution, settings.until_width) == (0.02, 0.03)
