"""An estimate in a notebook."""

import json

import numpy as np
import pytest

from skillsv.estimate import estimate_chains

TASKS = ("t0", "t1")


@pytest.fixture
def estimate(make_skill, make_chain, make_order):
    compiled, rng = make_skill(("a", "<b>")), np.random.default_rng(0)
    return estimate_chains(
        compiled,
        [make_chain(k, make_order(compiled, rng), TASKS, lambda kept, *_: float("a" in kept)) for k in range(3)],
    )


def test_a_dictionary_that_json_takes(estimate):
    plain = estimate.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["units"][0]["net"]["value"] == 1.0
    assert plain["units"][0]["evidence"] == "positive"


def test_a_data_frame_with_a_row_per_unit(estimate):
    pytest.importorskip("pandas")
    frame = estimate.to_frame()
    assert list(frame["unit"]) == ["a", "<b>"]
    assert list(frame["net"]) == [1.0, 0.0]
    assert frame["content"].isna().all()


def test_a_table_that_escapes_what_skills_say(estimate):
    page = estimate._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<td>+100.0</td>" in page
    assert "in points of a hundred" in page
