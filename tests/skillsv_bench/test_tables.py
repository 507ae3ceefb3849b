"""Tables of benchmark results in the two forms that people read."""

from skillsv_bench.tables import Table

TABLE = Table(
    name="example",
    title="Example",
    columns=("skill", "lift", "ratio", "low"),
    rows=(("one", 0.07, 0.95, None), ("two", -1, None, 0.123456)),
    points=("lift", "low"),
)


def test_csv_gives_amounts_of_score_in_points_and_says_so():
    assert TABLE.csv().splitlines() == [
        "skill,lift (points),ratio,low (points)",
        "one,7.0,0.95,",
        "two,-100.0,,12.3456",
    ]


def test_markdown_rounds_points_to_a_tenth():
    lines = TABLE.markdown().splitlines()
    assert lines[2] == "| skill | lift (points) | ratio | low (points) |"
    assert lines[4:] == ["| one | 7.0 | 0.950 | – |", "| two | -100.0 | – | 12.3 |"]


def test_rows_keep_shares_for_json():
    assert TABLE.rows[0][1] == 0.07
