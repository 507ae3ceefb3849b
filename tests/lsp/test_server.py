"""`skillsv lsp`, spoken to by a client of the protocol on stdin and stdout."""

import pytest
from lsprotocol import types

import skillsv as sv

from .conftest import SKILL, Session

LINES = SKILL.splitlines()
ALPHA, MUMBLE, BETA, WHISPER = (
    next(number for number, line in enumerate(LINES) if word in line) for word in ("alpha", "Mumble", "beta", "Whisper")
)


def apply(text, edits, unit="utf-16"):
    """The text after edits, as an editor applies them: columns count UTF-16 units or bytes."""
    code = {"utf-16": "utf-16-le", "utf-8": "utf-8"}[unit]
    size = {"utf-16": 2, "utf-8": 1}[unit]
    lines = [line.encode(code) for line in text.split("\n")]
    (edit,) = edits
    start, end = edit.range.start, edit.range.end
    before = "\n".encode(code).join([*lines[: start.line], lines[start.line][: size * start.character]])
    after = "\n".encode(code).join([lines[end.line][size * end.character :], *lines[end.line + 1 :]])
    return before.decode(code) + edit.new_text + after.decode(code)


def files_of(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_findings_follow_the_open_text(session, place):
    path = place / "words" / "SKILL.md"
    uri = session.open(path)
    assert [finding.code for finding in session.findings(uri)] == []
    session.change(uri, 2, SKILL + "\nSee [the notes](gone.md).\n")
    (finding,) = session.findings(uri, 2)
    assert finding.code == "dangling-link"
    assert finding.severity is types.DiagnosticSeverity.Warning
    assert finding.range.start == types.Position(len(LINES) + 1, 0)
    assert finding.range.end == types.Position(len(LINES) + 1, len("See [the notes](gone.md)."))
    assert path.read_text(encoding="utf-8") == SKILL, "the file on disk is as it was"
    session.change(uri, 3, SKILL)
    assert session.findings(uri, 3) == []


def test_broken_frontmatter_is_a_finding_and_no_crash(session, tmp_path):
    path = tmp_path / "broken" / "SKILL.md"
    path.parent.mkdir()
    path.write_text("---\nname: [broken\ndescription: Use when: always\n---\n# A\n\nText.\n")
    uri = session.open(path)
    assert "frontmatter-yaml" in {finding.code for finding in session.findings(uri)}
    session.change(uri, 2, "")
    (finding,) = session.findings(uri, 2)
    assert "empty" in finding.message
    session.change(uri, 3, "---\nname: broken\ndescription: Works.\n---\n# A\n\nText.\n")
    assert session.findings(uri, 3) == []


def test_a_skill_that_is_not_saved_yet_is_linted(session, tmp_path):
    (tmp_path / "new").mkdir()
    uri = session.open(tmp_path / "new" / "SKILL.md", "# A\n\nText.\n")
    assert [finding.code for finding in session.findings(uri)] == ["frontmatter-missing"]


def test_a_skill_without_a_run_has_findings_and_no_values(session, tmp_path):
    path = tmp_path / "plain" / "SKILL.md"
    path.parent.mkdir()
    path.write_text("---\nname: other\ndescription: Works.\n---\n# A\n\n- One.\n")
    uri = session.open(path)
    assert [finding.code for finding in session.findings(uri)] == ["name-folder"]
    assert session.hints(uri) == {}
    assert session.hover(uri, 6) is None
    assert session.actions(uri, 6) == {}


def test_a_readme_is_no_skill(session, tmp_path):
    (tmp_path / "README.md").write_text("# Title\n")
    uri = session.open(tmp_path / "README.md")
    assert session.hints(uri) == {}
    assert (uri, 1) not in session.diagnostics


def test_a_document_that_is_no_file_is_left_alone(session):
    item = types.TextDocumentItem(uri="untitled:SKILL.md", language_id="markdown", version=1, text="# A\n")
    session.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    assert session.hints(item.uri) == {}
    assert (item.uri, 1) not in session.diagnostics


def test_values_stand_beside_the_lines(session, place):
    uri = session.open(place / "words" / "SKILL.md")
    hints = session.hints(uri)
    assert sorted(hints) == [ALPHA, MUMBLE, BETA, WHISPER]
    assert hints[ALPHA].label.startswith("+30.0")
    assert hints[ALPHA].label.endswith("● keep")
    assert "· idle" in hints[MUMBLE].label or "◌ expendable" in hints[MUMBLE].label
    assert hints[ALPHA].position.character == len(LINES[ALPHA]) + 1, "U+1F600 is two UTF-16 units"
    hover = session.hover(uri, ALPHA)
    assert hover.contents.kind is types.MarkupKind.PlainText
    assert "Net effect on these tasks: +30.0" in hover.contents.value
    assert hover.range.start == types.Position(ALPHA, 0)
    proved = session.hover(uri, MUMBLE).contents.value
    assert "Its deletion, together with 1 other unit, was proved.\nConfirmed on 20 held-out tasks" in proved


def test_a_changed_line_shows_no_value(session, place):
    uri = session.open(place / "words" / "SKILL.md")
    session.change(uri, 2, SKILL.replace("second.", "second wörd.") + "- A new line.\n")
    hints = session.hints(uri)
    assert hints[BETA].label == "changed since the run"
    assert hints[len(LINES)].label == "not in the run"
    assert hints[ALPHA].label.startswith("+30.0")
    hover = session.hover(uri, BETA).contents.value
    assert "changed since the run" in hover
    assert "20.0" not in hover
    assert "Other parts of the skill have changed since the run" in session.hover(uri, ALPHA).contents.value
    assert session.actions(uri, MUMBLE) == {}, "the proof is not about this text"
    session.change(uri, 3, SKILL)
    assert session.hints(uri)[BETA].label.startswith("+20.0")


def test_a_proved_line_can_be_deleted_to_the_byte(session, place):
    folder = place / "words"
    uri = session.open(folder / "SKILL.md")
    mumble = next(unit.id for unit in sv.compile(folder).units if unit.lines.first == MUMBLE + 1)
    actions = session.actions(uri, MUMBLE)
    assert list(actions) == ["Delete this line", "Delete all 2 units whose deletion is proved"]
    shorter = apply(SKILL, actions["Delete this line"].edit.changes[uri])
    assert shorter == sv.render(folder, drop=[mumble]).text
    assert shorter == SKILL.replace(LINES[MUMBLE] + "\n", "")
    both = apply(SKILL, list(actions.values())[1].edit.changes[uri])
    assert both == sv.prune(sv.load_run(place / ".skillsv" / "words")).files["SKILL.md"].decode()
    assert session.actions(uri, ALPHA) == {}, "a line that helps is not offered"
    session.change(uri, 2, shorter)
    assert list(session.actions(uri, WHISPER - 1)) == ["Delete this line"], "after one proved deletion comes the next"


def test_without_a_proof_nothing_is_offered(session, place):
    (place / ".skillsv" / "words" / "confirmation.json").unlink()
    uri = session.open(place / "words" / "SKILL.md")
    assert "idle" in session.hints(uri)[MUMBLE].label or "expendable" in session.hints(uri)[MUMBLE].label
    assert session.actions(uri, MUMBLE) == {}


def test_a_damaged_run_gives_no_values(session, place):
    (place / ".skillsv" / "words" / "valuation.json").write_text('{"schema": "skillsv.valuation/1"}')
    assert session.hints(session.open(place / "words" / "SKILL.md")) == {}


def test_nothing_of_the_skill_runs_and_nothing_is_written(session, place):
    folder = place / "words"
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run.py").write_text(f"open({str(place / 'ran')!r}, 'w')\n")
    (folder / "skillsv.py").write_text(f"open({str(place / 'ran')!r}, 'w')\n")
    (place / "skillsv.toml").write_text('verifier = "command:touch ran"\n')
    before = files_of(place)
    uri = session.open(folder / "SKILL.md")
    session.change(uri, 2, SKILL + "\nRun scripts/run.py and skillsv.py.\n")
    session.findings(uri, 2)
    session.hints(uri)
    session.hover(uri, ALPHA)
    session.actions(uri, MUMBLE)
    assert files_of(place) == before


@pytest.mark.heavy
@pytest.mark.parametrize("encoding", ["utf-8"])
def test_columns_are_those_that_the_client_prefers_and_runs_may_lie_elsewhere(place, tmp_path, encoding):
    run = (place / ".skillsv" / "words").rename(tmp_path / "elsewhere")
    session = Session("--run-dir", str(run), encodings=[encoding])
    try:
        assert session.ready.capabilities.position_encoding == encoding
        uri = session.open(place / "words" / "SKILL.md")
        assert session.hints(uri)[ALPHA].position.character == len(LINES[ALPHA].encode())
        edits = session.actions(uri, MUMBLE)["Delete this line"].edit.changes[uri]
        assert apply(SKILL, edits, encoding) == SKILL.replace(LINES[MUMBLE] + "\n", "")
    finally:
        assert session.close() == 0
