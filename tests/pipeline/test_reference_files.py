"""Skills whose text is in reference files: a pointer has the value of its file, and units inside have their own."""

import re

import pytest

import skillsv as sv
from skillsv.report.text import markdown_summary, terminal_table
from skillsv.report.valuation_json import valuation_dict

WORDS = {"sun": "sol", "moon": "luna", "star": "stella"}
MAIN = (
    "---\nname: latin\ndescription: Words in Latin.\n---\n# Latin\n\nLook words up in [words](references/words.md).\n"
)
REFERENCE = "# Words\n\n" + "".join(f"- {word} means {latin}\n" for word, latin in WORDS.items()) + "- rain is wet\n"


def answer(skill, task):
    """Reads the reference file where SKILL.md leads to it."""
    files = {} if skill is None else {path: data.decode() for path, data in skill.files.items()}
    text = files.get("references/words.md", "") if "references/words.md" in files.get("SKILL.md", "") else ""
    return dict(re.findall(r"(\w+) means (\w+)", text)).get(task.input, "unknown")


def value(folder, **settings):
    (folder / "latin/references").mkdir(parents=True)
    (folder / "latin/SKILL.md").write_text(MAIN)
    (folder / "latin/references/words.md").write_text(REFERENCE)
    tasks = [
        {"id": f"{word}-{number}", "input": word, "target": latin, "verifier": "exact"}
        for word, latin in WORDS.items()
        for number in range(4)
    ]
    return sv.value(
        folder / "latin", tasks=tasks, agent=answer, panel_b=0, max_rollouts=300, operators=["delete"], **settings
    ).valuation


def test_the_value_of_a_pointer_is_shown_with_the_file_that_only_it_leads_to(tmp_path, capsys):
    valuation = value(tmp_path, inside="main")
    pointer, file = valuation.units
    assert (round(pointer.net.value, 6), round(file.net.value, 6)) == (1.0, 0.0)
    assert pointer.reaches.files == ("references/words.md",)
    row = valuation_dict(valuation)["units"][0]
    assert row["reaches"] == {"files": ["references/words.md"], "units": ["references/words.md"], "net": 1.0}
    text = markdown_summary(valuation)
    assert "+100.0 with words.md" in text
    assert text.count("kept or deleted together") == 1
    assert terminal_table(valuation) is not None


@pytest.mark.heavy
def test_units_inside_a_reference_file_have_their_own_values(tmp_path):
    valuation = value(tmp_path, inside="references")
    nets = {unit.text.strip(): round(unit.net.value, 2) for unit in valuation.units}
    assert nets["- sun means sol"] == nets["- moon means luna"] == nets["- star means stella"] == 0.33
    assert nets["- rain is wet"] == 0.0
    pointer = valuation.units[0]
    assert abs(pointer.net.value) < 0.01
    assert round(pointer.reaches.net, 2) == 1.0
    assert valuation.units[1].section == ("references/words.md", "Words")
    assert valuation.units[1].file == "references/words.md"
