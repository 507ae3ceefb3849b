"""`compile`, `lint`, `render`, `orders` on paths, files and texts."""

import pytest

import skillsv as sv
from skillsv.errors import CoalitionError, SettingsError, SkillError


def test_folder_file_and_text_give_the_same_units(skill, tmp_path):
    folder = tmp_path / "colours"
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill)
    sources = [folder, str(folder), folder / "SKILL.md", skill]
    assert len({tuple(unit.id for unit in sv.compile(source).units) for source in sources}) == 1
    assert sv.compile(skill).name == "colours"
    assert sv.compile(skill).text == skill


def test_a_text_without_frontmatter_is_a_skill():
    assert sv.compile("Be brief.\n").name == "skill"


@pytest.mark.parametrize("source", ["no-such-folder", "", " \n\n"])
def test_what_is_no_skill_is_refused(source):
    with pytest.raises(SkillError):
        sv.compile(source)


def test_settings_of_the_compiler_apply(skill):
    assert len(sv.compile(skill, granularity="section")) < len(sv.compile(skill))
    assert len(sv.compile(sv.compile(skill), granularity="section")) < len(sv.compile(skill))
    with pytest.raises(SettingsError, match="compile has no setting 'seed'"):
        sv.compile(skill, seed=1)


def test_the_settings_of_compile_hold_in_value(skill, tasks, answer):
    coarse = sv.compile(skill, granularity="section")
    run = sv.value(coarse, tasks=tasks, agent=answer, max_rollouts=200, panel_b=0)
    assert len(run.valuation.units) == len(coarse) - 1
    assert run.valuation.settings["granularity"] == "section"


def test_render_names_units_by_id_beginning_and_number(skill):
    compiled = sv.compile(skill)
    first = next(unit.id for unit in compiled.units if unit.id.startswith("colours/bullet"))
    texts = {sv.render(compiled, drop=name).text for name in (first, first[:-1], "colours/bullet-1")}
    assert len(texts) == 1
    assert "- red" not in texts.pop()
    with pytest.raises(CoalitionError, match="names 3 units"):
        sv.render(compiled, drop="colours")
    assert sv.render(compiled, keep=()).empty


def test_render_refuses_what_is_not_closed(tmp_path):
    text = "# Steps\n\nDo these in order:\n\n- one\n- two\n"
    compiled = sv.compile(text)
    with pytest.raises(CoalitionError):
        sv.render(compiled, keep=["steps/bullet-1"])


def test_orders_start_with_the_trigger_and_repeat_with_the_seed(skill):
    drawn = sv.orders(skill, n=20, seed=5)
    assert len(drawn) == 20
    assert drawn == sv.orders(skill, n=20, seed=5)
    assert all(order[0] == "m" and len(order) == 4 for order in drawn)
    with pytest.raises(SettingsError):
        sv.orders(skill, n=0)


def test_to_dict_is_what_the_command_prints(skill, tmp_path, capsys):
    import json

    from skillsv.cli.app import run

    (tmp_path / "colours.md").write_text(skill)
    assert run(["compile", str(tmp_path / "colours.md"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == sv.compile(tmp_path / "colours.md").to_dict()
