import json

import pytest

from skillsv.cli import run

GOOD = "---\nname: {name}\ndescription: Makes tea. Use when somebody is thirsty.\n---\n# Tea\n\nBoil the water.\n"


def write(folder, text):
    folder.mkdir()
    (folder / "SKILL.md").write_text(text)
    return str(folder)


@pytest.fixture
def good(tmp_path):
    return write(tmp_path / "tea", GOOD.format(name="tea"))


@pytest.fixture
def bad(tmp_path):
    return write(tmp_path / "coffee", GOOD.format(name="Coffee!") + "\n```python\nbrew()\n")


def test_a_good_skill_has_no_findings(good, capsys):
    assert run(["lint", good]) == 0
    printed = capsys.readouterr()
    assert printed.out == "1 skill: 0 errors, 0 warnings, 0 notes\n"
    assert printed.err == ""


def test_findings_have_the_form_of_compiler_messages_and_errors_fail(bad, capsys):
    assert run(["lint", bad]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"{bad}/SKILL.md:2: error name-form The name 'Coffee!' is not" in lines[1]
    assert any(line.startswith(f"{bad}/SKILL.md:9: warning unclosed-fence") for line in lines)
    assert lines[-1].startswith("1 skill: 2 errors, 1 warning")


def test_warnings_alone_do_not_fail(tmp_path, capsys):
    folder = write(tmp_path / "tea", GOOD.format(name="tea") + "\n## Empty\n")
    assert run(["lint", folder]) == 0
    assert "empty-heading" in capsys.readouterr().out


def test_a_path_without_a_skill_does_not_stop_the_others(good, bad, tmp_path, capsys):
    assert run(["lint", good, str(tmp_path / "nowhere"), bad]) == 2
    printed = capsys.readouterr()
    assert "nowhere" in printed.err
    assert printed.out.splitlines()[-1].startswith("2 skills: ")


def test_a_finding_names_its_skill_among_several(good, tmp_path, capsys, monkeypatch):
    write(tmp_path / "blank", "")
    monkeypatch.chdir(tmp_path)
    assert run(["lint", "tea", "blank", "nope"]) == 2
    printed = capsys.readouterr().err.splitlines()
    assert printed[0].startswith("skillsv: blank/SKILL.md: The main file is empty.")
    assert "nope" in printed[1]
    assert run(["compile", "blank"]) == 2
    assert capsys.readouterr().err.startswith("skillsv: blank/SKILL.md: ")


@pytest.mark.parametrize("flags", [["--json"], ["--format", "json"]])
def test_json_holds_all_skills(good, bad, capsys, flags):
    assert run(["lint", good, bad, *flags]) == 1
    made = json.loads(capsys.readouterr().out)
    assert made["schema"] == "skillsv.lint/1"
    assert [skill["name"] for skill in made["skills"]] == ["tea", "coffee"]
    assert made["skills"][0]["findings"] == []
    assert {"code", "severity", "message", "file", "line"} == set(made["skills"][1]["findings"][0])
    assert made["counts"]["error"] == 2


def test_sarif_points_into_each_skill(good, bad, capsys, tmp_path):
    target = tmp_path / "lint.sarif"
    assert run(["lint", good, bad, "--format", "sarif", "-o", str(target)]) == 1
    assert capsys.readouterr().out == ""
    results = json.loads(target.read_text())["runs"][0]["results"]
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert uris == {f"file://{bad}/SKILL.md"}


def test_text_can_be_written_to_a_file(bad, tmp_path, capsys):
    assert run(["lint", bad]) == 1
    printed = capsys.readouterr().out
    assert run(["lint", bad, "-o", str(tmp_path / "lint.txt")]) == 1
    assert (tmp_path / "lint.txt").read_text() == printed


def test_json_and_another_format_together_are_refused(good, capsys):
    assert run(["lint", good, "--json", "--format", "sarif"]) == 2
    assert "--format sarif" in capsys.readouterr().err


def test_paths_are_relative_if_the_skill_is_the_working_folder(bad, capsys, monkeypatch):
    monkeypatch.chdir(bad)
    assert run(["lint", "."]) == 1
    assert capsys.readouterr().out.startswith("SKILL.md:2: error")


def test_a_single_markdown_file_needs_no_frontmatter(tmp_path, capsys):
    (tmp_path / "AGENTS.md").write_text("# Rules\n\nBe kind.\n")
    assert run(["lint", str(tmp_path / "AGENTS.md")]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out


def test_fail_on_sets_the_least_severity_that_fails(tmp_path):
    folder = write(tmp_path / "tea", GOOD.format(name="tea") + "\n## Empty\n")
    codes = {level: run(["lint", folder, "--fail-on", level]) for level in ("never", "error", "warning", "note")}
    assert codes == {"never": 0, "error": 0, "warning": 1, "note": 1}


def test_ignored_codes_are_left_out_and_unknown_ones_refused(bad, capsys):
    assert run(["lint", bad, "--ignore", "name-form, name-folder", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {finding["code"] for finding in made["skills"][0]["findings"]} == {"unclosed-fence"}
    assert run(["lint", bad, "--ignore", "name-fork"]) == 2
    assert "lint --rules" in capsys.readouterr().err


def test_symbols_and_cycles_are_checked_only_on_request(tmp_path, capsys):
    folder = write(tmp_path / "tea", GOOD.format(name="tea") + "\n```python\nbrew()\n```\n\nRun a.py.\n")
    (tmp_path / "tea/a.py").write_text("import b\n")
    (tmp_path / "tea/b.py").write_text("import a\n")
    assert run(["lint", folder]) == 0
    assert "0 notes" in capsys.readouterr().out
    assert run(["lint", folder, "--all"]) == 0
    printed = capsys.readouterr().out
    assert " undefined-symbol " in printed
    assert " cycle " in printed


def test_a_folder_of_skills_is_linted_skill_by_skill(tmp_path, capsys):
    (tmp_path / "pack/nested").mkdir(parents=True)
    write(tmp_path / "pack/tea", GOOD.format(name="tea"))
    write(tmp_path / "pack/nested/coffee", GOOD.format(name="coffee"))
    write(tmp_path / "pack/.hidden", GOOD.format(name="hidden"))
    assert run(["lint", str(tmp_path / "pack"), "--json"]) == 0
    assert [skill["name"] for skill in json.loads(capsys.readouterr().out)["skills"]] == ["coffee", "tea"]
    (tmp_path / "empty").mkdir()
    assert run(["lint", str(tmp_path / "empty")]) == 2


def test_rules_lists_every_code_with_an_example(capsys):
    assert run(["lint", "--rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run(["lint", "--rules", "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    assert len(rules) == len(lines) > 40
    assert all(rule["example"] and rule["title"] for rule in rules)
    assert {rule["code"] for rule in rules if not rule["usual"]} == {"undefined-symbol", "cycle"}
    assert any(line.startswith("heading-space ") and "--fix" in line for line in lines)
    assert run(["lint"]) == 2


def test_fix_repairs_what_is_mechanical_and_nothing_else(tmp_path, capsys):
    folder = tmp_path / "tea"
    write(folder, "")
    head = "\ufeff" + GOOD.format(name="tea")
    body = "\n##Steps\n\nOne.## Two\nText\n## Three\n\nTwo lines\nof text.\n---\n\n```\n##code\n```\n\n## Empty\n"
    (folder / "SKILL.md").write_bytes((head + body).replace("One.", "One.").encode().replace(b"Text\n", b"Text\r\n"))
    assert run(["lint", str(folder), "--fix"]) == 0
    printed = capsys.readouterr()
    assert f"Fixed {folder / 'SKILL.md'}." in printed.err
    assert [line.split()[2] for line in printed.out.splitlines()[:-1]] == ["empty-heading"]
    expected = GOOD.format(name="tea") + (
        "\n## Steps\n\nOne.\n\n## Two\nText\n\n## Three\n\nTwo lines\nof text.\n\n---\n\n```\n##code\n```\n\n## Empty\n"
    )
    assert (folder / "SKILL.md").read_bytes() == expected.encode()
    assert run(["lint", str(folder), "--fix"]) == 0
    assert "Fixed" not in capsys.readouterr().err


def test_fix_never_writes_through_a_link(tmp_path, capsys):
    target = tmp_path / "outside.md"
    target.write_text(GOOD.format(name="tea") + "\n##Steps\n")
    folder = tmp_path / "tea"
    folder.mkdir()
    (folder / "SKILL.md").symlink_to(target)
    assert run(["lint", str(folder), "--fix"]) == 2
    assert "##Steps" in target.read_text()
