"""The notebooks in `examples/python` run, as scripts and in a Jupyter kernel, and show what their text says."""

import json
import runpy
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "python"


def run_as_script(name, folder, monkeypatch):
    """The variables after all code cells of a notebook ran in an empty folder."""
    cells = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))["cells"]
    script = folder / "notebook.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
    monkeypatch.chdir(folder)
    return runpy.run_path(str(script))


def verdicts(valuation):
    return [str(unit.action) for unit in valuation.units]


@pytest.mark.heavy
def test_value_a_prompt(tmp_path, monkeypatch):
    names = run_as_script("value_a_prompt.ipynb", tmp_path, monkeypatch)
    assert names["run"].complete
    assert verdicts(names["run"].valuation) == ["keep", "keep", "keep", "harmful", "keep", "idle"]
    assert "invoice" in names["invoice"].text
    assert names["invoice"].net.high < 0


@pytest.mark.heavy
def test_compare_two_models(tmp_path, monkeypatch, capsys):
    names = run_as_script("compare_two_models.ipynb", tmp_path, monkeypatch)
    mile, _, furlong, steps, _ = zip(names["small"].units, names["large"].units, strict=True)
    assert [str(unit.action) for unit in mile] == ["keep", "idle"]
    assert [str(unit.action) for unit in furlong] == ["keep", "keep"]
    assert [str(unit.action) for unit in steps] == ["harmful", "idle"]
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 1 + len(names["small"].units)
    assert rows[0].split() == ["line", "small", "large"]


@pytest.mark.heavy
def test_prune_and_prove(tmp_path, monkeypatch):
    names = run_as_script("prune_and_prove.ipynb", tmp_path, monkeypatch)
    assert "opens at" not in "".join(line for line in names["short"].patch.splitlines() if line.startswith("-"))
    assert len(names["short"].removed) == 3
    assert names["proof"].met
    assert not names["worse"].met
    assert (tmp_path / "opening-hours-run" / "report.html").is_file()


@pytest.mark.parametrize("file", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.stem)
def test_notebooks_are_stored_without_outputs(file):
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.stem)
def test_a_jupyter_kernel_shows_tables_and_figures(file, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    for variable in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    notebook = nbformat.read(file, as_version=4)
    loop = "import asyncio\nprint('loop:', asyncio.get_running_loop().is_running())"
    notebook.cells.append(nbformat.v4.new_code_cell(loop))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data for output in outputs if "data" in output]
    assert "loop: True" in outputs[-1].text, "cells run while an event loop runs"
    assert any("<table>" in data.get("text/html", "") and "verdict" in data["text/html"] for data in shown)
    assert any(data.get("image/svg+xml", "").startswith("<svg") for data in shown)
