"""The files of `skillsv bench paper` and their index."""

from skillsv_bench.paper.artifacts import Artifact, ArtifactSet, MissingArtifact
from skillsv_bench.paper.drawings import line_chart
from skillsv_bench.tables import Table


def artifact(name, place="Table 1", svg=None, differences=()):
    table = Table(name=name, title="Lift", columns=("skill", "lift"), rows=(("one", 0.07),), points=("lift",))
    return Artifact(
        name=name, place=place, title="Lift | of skills", source="`run`", table=table, svg=svg, differences=differences
    )


GAP = MissingArtifact(place="Table 3", title="ALFWorld", needs="an editor is needed.", command="skillsv bench alfworld")


def test_every_artifact_is_written_as_csv_markdown_and_svg(tmp_path):
    made = ArtifactSet(artifacts=(artifact("table-1-lift", svg="<svg/>"), artifact("table-2-sum")))
    names = made.write(tmp_path / "out", "skillsv bench paper")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == set(names)
    assert written == {
        *("table-1-lift.csv", "table-1-lift.md", "table-1-lift.svg"),
        *("table-2-sum.csv", "table-2-sum.md", "index.md"),
    }
    assert (tmp_path / "out" / "table-1-lift.csv").read_text() == "skill,lift (points)\none,7.0\n"


def test_the_index_names_files_origin_differences_and_gaps():
    made = ArtifactSet(artifacts=(artifact("table-1-lift", differences=("Half the tasks.",)),), missing=(GAP,))
    index = made.index("skillsv bench paper -o out")
    assert "Written by `skillsv bench paper -o out`." in index
    row = next(line for line in index.splitlines() if "table-1-lift.csv" in line)
    assert row.startswith("| Table 1 | Lift &#124; of skills | [csv](table-1-lift.csv)")
    assert row.count(" | ") == 3
    assert "- Table 1, `table-1-lift`: Half the tasks." in index
    assert "- Table 3, ALFWorld: an editor is needed. `skillsv bench alfworld`" in index


def test_sets_are_joined_in_the_order_of_the_paper():
    names = ("figure-10-variance", "appendix-truncation", "figure-4-mechanism", "table-5-rules")
    joined = ArtifactSet(artifacts=tuple(map(artifact, names))) + ArtifactSet(artifacts=(artifact("table-1-lift"),))
    assert [made.name for made in joined.artifacts] == [
        "table-1-lift",
        "table-5-rules",
        "figure-4-mechanism",
        "figure-10-variance",
        "appendix-truncation",
    ]


def test_a_line_chart_leaves_out_what_a_logarithm_cannot_show():
    figure = line_chart("v", "Variance", {"paired": [(1, 0.5), (2, 0.0), (4, 0.125)]}, across="b", up="variance")
    assert [row[1:] for row in figure.rows] == [(1, 0.5), (2, 0.0), (4, 0.125)]
    line = str(figure.svg).split('d="')[1].split('"')[0]
    assert line.count("L") == 1
