from skillsv.model.value import Action
from skillsv.report.edits import revision_hunks, verdict_hunks
from skillsv.report.format import execution


def test_each_unit_to_go_or_to_shorten_is_one_hunk(case):
    hunks = verdict_hunks(case.valuation, case.compiled)
    asked = {Action.DELETE, Action.HARMFUL, Action.COMPRESS}
    assert [hunk.unit for hunk in hunks] == [
        unit.id for unit in execution(case.valuation) if unit.verdict.action in asked
    ]
    for hunk in hunks:
        unit = next(unit for unit in case.valuation.units if unit.id == hunk.unit)
        changed = [line.text for line in hunk.lines if line.mark != " "]
        assert "\n".join(changed).strip() == unit.text.strip()
        assert {line.mark for line in hunk.lines} <= {" ", "~" if unit.verdict.action is Action.COMPRESS else "-"}
        assert hunk.reasons == (unit.verdict.reason,)


def test_a_revision_is_a_diff_with_the_verdicts_it_follows(case):
    main = case.compiled.skill.file("SKILL.md").data
    line = b"- Give amounts in euros, with two decimals.\n"
    assert line in main
    (hunk,) = revision_hunks(case.valuation, case.compiled, {**_files(case), "SKILL.md": main.replace(line, b"")})
    assert [item.text for item in hunk.lines if item.mark == "-"] == ["- Give amounts in euros, with two decimals."]
    assert not [item for item in hunk.lines if item.mark == "+"]
    assert hunk.reasons[0].startswith("harmful: ")


def test_new_text_and_removed_files_are_shown(case):
    files = _files(case)
    files.pop("scripts/refund.py")
    files["references/new.md"] = b"Something new.\n"
    hunks = revision_hunks(case.valuation, case.compiled, files)
    marks = {hunk.place.split(":")[0]: {line.mark for line in hunk.lines} for hunk in hunks}
    assert "+" in marks["references/new.md"]
    assert "-" in marks["scripts/refund.py"]


def _files(case):
    return {file.path: file.data for file in case.compiled.skill.files}
