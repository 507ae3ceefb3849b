"""A run built from records: what all reports say about units that no chain has tested."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from skillsv.model.rollout import Usage
from skillsv.model.value import Spending
from skillsv.pipeline.build_valuation import RolloutResult
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.run import build_run
from skillsv.report import page, valuation_dict
from skillsv.report.text import markdown_summary, terminal_table
from skillsv.settings import Settings
from skillsv_bench.planted import Noise, SharedNoise, make_plans, planted_skill, record_chains


def run_of_chains(chains, *, orders=12):
    """A run on the mechanism game that ended after so many of its truncated chains."""
    game, rng = planted_skill("mechanism"), np.random.default_rng(0)
    plans = make_plans(game, rng, chains=chains, window=4, tolerance=0.25)
    records = record_chains(game, plans, noise=Noise(), shared_noise=SharedNoise.draw(game, rng))
    settings = Settings(method="chain", orders=orders, window=4, tolerance=0.25)
    result = RolloutResult(
        records=tuple(records), spending=Spending(spent=60, reused=0, failed=0, forecast=300), usage=Usage()
    )
    return build_run(make_renderer(game.compiled, settings), settings, {"agent": {"spec": "planted:rules"}}, result)


@pytest.fixture(scope="module")
def early():
    """Two chains, both truncated: some units have no sample."""
    return run_of_chains(2)


def untested(run):
    """The units that no chain tested; there are some, and some were tested."""
    units = [unit for unit in run.valuation.units if unit.value.samples == 0]
    assert 0 < len(units) < len(run.valuation.units)
    return units


def test_all_reports_say_that_an_untested_unit_of_a_chain_run_has_no_value(early):
    units, sentence = untested(early), "units have no value yet."
    valuation, stream = early.valuation, StringIO()
    Console(file=stream, width=140).print(terminal_table(valuation, 140, colour=False))
    lines = stream.getvalue().splitlines()
    rows = [next(line for line in lines if line.split()[:1] == [str(unit.lines.first)]) for unit in units]
    assert all("– [−100.0, +100.0]" in " ".join(row.split()) for row in rows)
    assert "+0.0 " not in "".join(rows)

    markdown = markdown_summary(valuation)
    assert markdown.count("| – [−100.0, +100.0] |") == len(units)
    html = page(valuation, early.compiled, early.records)
    assert "Too early: the values explain" in html.split("</header>")[0]
    answer = valuation_dict(valuation)
    nets = {unit["id"]: unit["net"] for unit in answer["units"]}
    assert [nets[unit.id] for unit in units] == [{"value": None, "low": -1.0, "high": 1.0}] * len(units)
    for text in (" ".join(" ".join(lines).split()), markdown, html, *answer["notes"][:1]):
        assert f"{len(units)} of 7 {sentence} Next sensible budget: --max-rollouts 300." in text


def test_a_finished_chain_run_names_no_budget():
    run = run_of_chains(2, orders=2)
    assert untested(run)
    assert run.valuation.next_budget is None
    assert any("--tolerance off tests all" in note for note in run.valuation.estimate.notes)
