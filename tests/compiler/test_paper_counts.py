"""The paper's unit counts (its Table 2) and the edges of its worked examples.

The files in `fixtures/` have the block structure of the four published artifacts, line by line, with texts of our own.
Where the shared corpus is present, the same tests also run on the artifacts themselves.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from skillsv.compiler import CompileOptions, compile_skill
from skillsv.compiler.markdown import top_blocks

FIXTURES = Path(__file__).parent / "fixtures"
COUNTS = {"livemath": (16, 16), "officeqa": (25, 25), "spreadsheetbench": (36, 49), "alfworld": (41, 48)}
"""Execution units with atomic and with split regions; the split counts are those of the paper's table."""


@pytest.fixture(params=["fixture", "artifact"])
def find_skill(request):
    """A function from a benchmark's name to its skill: our fixture, or the published artifact of the corpus."""
    if request.param == "fixture":
        return lambda name: FIXTURES / f"{name}.md"
    corpus = request.getfixturevalue("corpus")
    return lambda name: _artifact(corpus, name)


def _artifact(corpus: list[Path], name: str) -> Path:
    return next(folder for folder in corpus if folder.name == f"microsoft__SkillOpt__ckpt-{name}-gpt5.5")


@pytest.mark.parametrize("name", COUNTS)
def test_execution_units_match_the_counts_of_the_paper(find_skill, name):
    path = find_skill(name)
    atomic, split = (compile_skill(path, CompileOptions(regions=regions)) for regions in ("atomic", "split"))
    assert (len(atomic.execution), len(split.execution)) == COUNTS[name]
    assert "virtual" in atomic.unit[atomic.trigger].flags


def test_alfworld_has_its_table_list_and_lead_in_edges(find_skill):
    skill = compile_skill(find_skill("alfworld"))
    edges = {rule: [edge for edge in skill.edges if edge.rule == rule] for rule in ("R7", "R8", "R9")}
    assert [(edge.at.line, edge.target_at.line) for edge in edges["R7"]] == [(22, 15), (24, 15)]
    assert "row of 3 columns at line 22 continues the table headed at line 15" in edges["R7"][0].evidence
    assert [(edge.at.line, edge.target_at.line) for edge in edges["R8"]] == [
        *[(36, 34), (38, 34), (40, 34)],
        *[(45, 43), (48, 46), (50, 46), (53, 51)],
    ]
    assert "“2.”" in edges["R8"][0].evidence
    assert [(edge.at.line, edge.target_at.line) for edge in edges["R9"]] == [(line, 80) for line in range(82, 86)]
    assert "introduces lines 82 to 85" in edges["R9"][0].evidence


def test_spreadsheetbench_has_its_output_path_edges(find_skill):
    path = find_skill("spreadsheetbench")
    constant = "ALBUM_DIR" if path.parent == FIXTURES else "OUTPUT_PATH"
    skill = compile_skill(path, CompileOptions(regions="split"))
    definition = f"{skill.skill.main}:59"
    edges = [edge for edge in skill.edges if edge.rule == "R4" and definition in edge.evidence]
    assert [edge.at.line for edge in edges if constant in edge.evidence] == [20, 73]
    assert not skill.contractions


def test_rules_left_out_give_no_edges(find_skill):
    skill = compile_skill(find_skill("alfworld"), CompileOptions(without=frozenset({"R3", "R8", "R9"})))
    assert {edge.rule for edge in skill.edges} == {"R6", "R7"}


@pytest.mark.parametrize("name", COUNTS)
def test_fixtures_have_the_block_structure_of_the_artifacts(corpus, name):
    def structure(path: Path) -> list[tuple[str, int, int, int]]:
        lines = path.read_text(encoding="utf-8").split("\n")
        return [(block.form, block.level, block.first, block.stop) for block in top_blocks(lines)]

    assert structure(FIXTURES / f"{name}.md") == structure(_artifact(corpus, name) / "SKILL.md")


@pytest.mark.heavy
def test_most_code_files_left_out_of_the_corpus_are_reached(corpus, tmp_path):
    """Code files are not in the corpus; with empty files of the same names, edges reach most of them."""
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
            (copy / name).write_text("# empty\n")
        skill = compile_skill(copy)
        targets = {edge.target for edge in skill.edges if edge.rule in {"R1", "R2"}}
        files = {extent.file for unit in targets for extent in skill.unit[unit].extents}
        reached += sum(name in files for name in names)
        total += len(names)
    assert total > 100
    assert reached > total / 2
