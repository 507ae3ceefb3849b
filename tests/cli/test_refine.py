import json

import pytest

from skillsv.cli import run
from skillsv.compiler import compile_skill

HONEST = """
def edit(files, instruction):
    assert "Make this skill shorter" in instruction and "net effect" in instruction
    text = files["SKILL.md"].decode()
    return {"SKILL.md": "".join(line for line in text.splitlines(True) if "Mumble" not in line)}
"""


@pytest.fixture
def editor(tmp_path):
    def write(body):
        (tmp_path / "editor.py").write_text(body)
        return f"python:{tmp_path}/editor.py:edit"

    return write


def refined(place, capsys, *flags, code=0):
    capsys.readouterr()
    out = place / "new"
    assert run(["refine", str(place / "run"), "-o", str(out), "--json", "--quiet", "--yes", *flags]) == code
    captured = capsys.readouterr()
    return json.loads(captured.out) if captured.out else captured.err


def test_an_editor_shortens_the_skill_and_panel_b_confirms_it(place, capsys, editor):
    answer = refined(place, capsys, "--editor", editor(HONEST))
    assert answer["tries"] == 1
    assert answer["tokens_after"] < answer["tokens_before"]
    assert answer["confirmation"]["delta"]["low"] > 0  # nobody mumbles any more
    assert "Mumble" not in (place / "new/SKILL.md").read_text()
    assert (place / "new.patch").read_text().startswith("Written by skillsv.\n--- a/SKILL.md")


def test_a_program_edits_the_folder_in_place(place, capsys, tmp_path):
    script = tmp_path / "edit.sh"
    script.write_text(
        '#!/bin/sh\ngrep -q "Make this skill shorter" || exit 9\nsed -i /Mumble/d "$SKILLSV_SKILL/SKILL.md"\n'
    )
    script.chmod(0o755)
    answer = refined(place, capsys, "--editor", f"command:{script}", "--no-confirm")
    assert answer["confirmation"] is None
    assert "Mumble" not in (place / "new/SKILL.md").read_text()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def edit(files, instruction):\n    return None", "returned NoneType"),
        ("def edit(files, instruction):\n    return {}", "There is no SKILL.md"),
        ("def edit(files, instruction):\n    return {'SKILL.md': b'  '}", "It is no skill"),
        ("def edit(files, instruction):\n    return {**files, '../../out.md': b'x'}", "leads out of the skill"),
        ("def edit(files, instruction):\n    return {**files, '/tmp/out.md': b'x'}", "leads out of the skill"),
        ("def edit(files, instruction):\n    return {'SKILL.md': files['SKILL.md'] + b'- more words\\n' * 9}", "tokens, more than"),
        ("def edit(files, instruction):\n    return {'SKILL.md': files['SKILL.md'].replace(b'name: tiny', b'name: x')}", "frontmatter"),
        ("def edit(files, instruction):\n    return {'SKILL.md': files['SKILL.md'].split(b'- Say')[0] + b'- See [more](more.md).\\n'}", "more.md"),
    ],
)  # fmt: skip
def test_an_invalid_revision_is_refused(place, capsys, editor, body, words):
    printed = refined(place, capsys, "--editor", editor(body), code=1)
    assert words in printed
    assert "in 3 tries" in printed
    assert not (place / "new").exists()
    assert not (place.parent / "out.md").exists()


def test_a_refused_revision_is_sent_back_to_the_editor(place, capsys, editor):
    body = """
def edit(files, instruction):
    if "was refused" not in instruction:
        return {"README.md": b"?"}
    assert "There is no SKILL.md" in instruction
    return {"SKILL.md": files["SKILL.md"].replace(b"- Mumble while you are at it.\\n", b"")}
"""
    assert refined(place, capsys, "--editor", editor(body), "--no-confirm")["tries"] == 2


def test_an_editor_that_crashes_is_unavailable(place, capsys, editor):
    printed = refined(place, capsys, "--editor", editor("def edit(files, instruction):\n    1 / 0"), code=5)
    assert "editor.py:2" in printed
    assert "ZeroDivisionError" in printed
    assert "exit code 1" in refined(place, capsys, "--editor", "command:false", code=5)


def test_a_refused_revision_is_kept_for_inspection(place, capsys, editor):
    refined(
        place,
        capsys,
        "--editor",
        editor("def edit(f, i):\n    return {'SKILL.md': b'# no frontmatter\\n\\nHi\\n'}"),
        code=1,
    )
    (kept,) = (place / "run/refused").iterdir()
    assert (kept / "SKILL.md").read_text() == "# no frontmatter\n\nHi\n"


def test_mechanical_merges_duplicates_and_removes_unused_units(place, capsys):
    answer = refined(place, capsys, "--mechanical")
    text = (place / "new/SKILL.md").read_text()
    assert text.lower().count("say `beta`") == 1
    assert "Mumble" not in text
    assert len(answer["merged"]) == 1
    assert answer["confirmation"]["new"]["value"] == 1.0
    assert compile_skill(place / "new").execution


def test_a_gate_not_met_exits_with_3(place, capsys, editor):
    body = "def edit(f, i):\n    return {'SKILL.md': f['SKILL.md'].replace(b'Say `alpha`', b'Hush')}"
    answer = refined(place, capsys, "--editor", editor(body), "--max-drop", "2", code=3)
    assert answer["confirmation"]["delta"]["high"] < 0
    assert (place / "new").is_dir()


def test_an_occupied_output_folder_is_refused_before_the_editor_is_paid(place, capsys, editor, tmp_path):
    (place / "new").mkdir()
    body = f"def edit(f, i):\n    open({str(tmp_path / 'asked')!r}, 'w')\n    return f"
    refined(place, capsys, "--editor", editor(body), code=2)
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    "flags", [[], ["--mechanical", "--editor", "command:true"], ["--mechanical", "--no-confirm", "--max-drop", "2"],
              ["--editor", "astrology"], ["--editor", "planted:rules"], ["--editor", "python:nowhere.py:edit"]]
)  # fmt: skip
def test_invalid_flags_are_refused(place, capsys, flags):
    refined(place, capsys, *flags, code=2)
