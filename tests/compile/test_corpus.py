"""The four published artifacts: the paper's counts, and the edges it tells of."""

from __future__ import annotations

import pytest

from skillsv.compile import CompileOptions, compile_skill

COUNTS = {"livemath": (16, 16), "officeqa": (25, 25), "spreadsheetbench": (36, 49), "alfworld": (41, 48)}


def _artifact(corpus, name):
    return next(folder for folder in corpus if folder.name == f"microsoft__SkillOpt__ckpt-{name}-gpt5.5")


@pytest.mark.parametrize("name", COUNTS)
def test_execution_units_of_the_published_artifacts(corpus, name):
    folder = _artifact(corpus, name)
    atomic, split = (compile_skill(folder, CompileOptions(regions=regions)) for regions in ("atomic", "split"))
    assert (len(atomic.execution), len(split.execution)) == COUNTS[name]
    assert "virtual" in atomic.unit[atomic.trigger].flags


def test_the_table_list_and_lead_in_edges_of_alfworld(corpus):
    skill = compile_skill(_artifact(corpus, "alfworld"))
    found = {rule: [edge for edge in skill.edges if edge.rule == rule] for rule in ("R7", "R8", "R9")}
    assert [(edge.at.line, edge.target_at.line) for edge in found["R7"]] == [(22, 15), (24, 15)]
    assert "row of 3 columns at line 22 continues the table headed at line 15" in found["R7"][0].evidence
    assert [(edge.at.line, edge.target_at.line) for edge in found["R8"]] == [
        *[(36, 34), (38, 34), (40, 34)],
        *[(45, 43), (48, 46), (50, 46), (53, 51)],
    ]
    assert "“2.”" in found["R8"][0].evidence
    assert [(edge.at.line, edge.target_at.line) for edge in found["R9"]] == [(line, 80) for line in range(82, 86)]
    assert "introduces lines 82 to 85" in found["R9"][0].evidence


def test_the_output_path_edges_of_spreadsheetbench(corpus):
    skill = compile_skill(_artifact(corpus, "spreadsheetbench"), CompileOptions(regions="split"))
    found = [edge for edge in skill.edges if edge.rule == "R4"]
    named = [edge.at.line for edge in found if "OUTPUT_PATH" in edge.evidence and "SKILL.md:59" in edge.evidence]
    assert named == [20, 73]
    assert not skill.contractions


def test_leaving_rules_out_leaves_their_edges_out(corpus):
    folder = _artifact(corpus, "alfworld")
    skill = compile_skill(folder, CompileOptions(without=frozenset({"R3", "R8", "R9"})))
    assert {edge.rule for edge in skill.edges} == {"R6", "R7"}


def test_stand_ins_for_left_out_files_are_reached(corpus, tmp_path):
    """Code files are not in the corpus; with stand-ins of the same names most are named by somebody."""
    reached = total = 0
    for folder in corpus:
        listing = folder.parent / f"{folder.name}.left-out.tsv"
        if not listing.is_file():
            continue
        copy = tmp_path / folder.name
        for source in folder.rglob("*"):
            if source.is_file():
                target = copy / source.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
        names = [line.split("\t")[0] for line in listing.read_text().splitlines() if line]
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text("# stand-in\n")
        skill = compile_skill(copy)
        targets = {unit for edge in skill.edges if edge.rule in {"R1", "R2"} for unit in (edge.target,)}
        files = {extent.file for unit in targets for extent in skill.unit[unit].extents}
        reached += sum(name in files for name in names)
        total += len(names)
    assert total > 100
    assert reached > total / 2
