import base64
import hashlib
import html
import re
from dataclasses import replace

import pytest

from skillsv.model.coalition import Observation, Operator
from skillsv.model.edit import Confirmation, CurvePoint, EditPlan, PruneStep, PruningCurve
from skillsv.model.value import Interval
from skillsv.report import page
from skillsv.report.sentences import execution_units
from skillsv.report.unit_views import tint

UNIT = r'<details class="unit [^"]*" id="u-'
"""The beginning of a unit's row."""


@pytest.fixture(scope="module")
def text(case):
    return page(case.valuation, case.compiled, case.records, transcripts=case.rollouts, limit=8_000)


def test_the_same_data_give_the_same_page(case, text):
    assert page(case.valuation, case.compiled, case.records, transcripts=case.rollouts, limit=8_000) == text


def test_the_policy_allows_only_the_page_s_style_and_script(text):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1])
    assert policy.startswith("default-src 'none';")
    for tag in ("style", "script"):
        (body,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_every_link_is_inside_the_page(text):
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {"http://www.w3.org/2000/svg"}
    targets = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert all(target.startswith(("#", "data:,")) for target in targets)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in targets if target.startswith("#")} <= {*ids, ""}


def test_no_attribute_holds_a_style_or_a_handler(text):
    assert not re.search(r"<[^>]*\s(style|on\w+)=", text)


def test_the_page_has_every_unit_once(case, text):
    assert len(re.findall(UNIT, text)) == len(execution_units(case.valuation))


def test_the_page_says_how_many_transcripts_it_carries(text, case):
    places = {(rollout.key.tree, rollout.task_id) for rollout in case.rollouts}
    embedded = int(re.search(rf"(\d+) of {len(places)} rollouts embedded", text)[1])
    assert 0 < embedded == len(re.findall(r'id="rollout-\d+"', text)) < len(places)
    assert "limit 8,000 characters" in text


def test_a_panel_without_data_is_not_shown(one_operator):
    text = page(one_operator.valuation, one_operator.compiled, ())
    for name in ("tasks", "pruning", "diff"):
        assert f'id="{name}"' not in text
        assert f'href="#{name}"' not in text
    assert "No context cost measured" in text
    assert "--operators delete,pad" in text


def test_the_page_of_an_adaptive_run_has_the_coalition_chart(case):
    observations = [
        Observation(
            coalition=case.compiled.everything,
            operator=Operator.DELETE,
            task="t",
            replicate=0,
            score=1.0,
            why="anchor:full",
        )
    ]
    text = page(case.valuation, case.compiled, (), observations=observations)
    assert 'data-name="coalitions"' in text


def test_provisional_values_are_marked(case, text):
    assert "provisional" not in text.split("<main")[1].split("<header>")[1][:300]
    assert "provisional: the run is not finished" in page(
        replace(case.valuation, provisional=True), case.compiled, case.records
    )


def test_the_pruning_panel_prefers_held_out_scores_to_the_prediction(case):
    step = PruneStep(unit="a", removed=("a",), kept=frozenset(), tokens_left=5, share_removed=0.9, lost_value=0.1)
    plan = EditPlan(path=(step,), tokens=50)
    predicted_page = page(case.valuation, case.compiled, (), edits=plan)
    assert "none of it is confirmed on held-out tasks yet" in predicted_page
    points = tuple(
        CurvePoint(share_removed=share, tokens_left=9, score=Interval(score, score - 0.1, score + 0.1))
        for share, score in ((0.0, 0.8), (1.0, 0.2))
    )
    curves = (PruningCurve(method="skillsv", points=points, auc=Interval(0.5, 0.4, 0.6)),)
    confirmation = Confirmation(
        tasks=40, old=Interval(0.8, 0.7, 0.9), new=Interval(0.79, 0.7, 0.9), delta=Interval(-0.01, -0.05, 0.03),
        tokens_old=400, tokens_new=300, curves=curves,
    )  # fmt: skip
    confirmed_page = page(case.valuation, case.compiled, (), edits=plan, confirmation=confirmation)
    assert "a prediction" not in confirmed_page
    assert "whole skill 80.0" in confirmed_page
    assert "a change of −1.0 [−5.0, +3.0] points with 300 instead of 400 tokens" in confirmed_page


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval(0.2, 0.19, 0.21), "plus-6"),
        (Interval(0.2, 0.0, 0.4), "plus-3"),
        (Interval(-0.2, -0.21, -0.19), "minus-6"),
        (Interval(0.0, -0.1, 0.1), "none"),
    ],
)
def test_the_tint_is_paler_for_a_wider_interval(interval, expected):
    assert tint(interval, 0.2, unresolved=False) == expected
    assert tint(interval, 0.2, unresolved=True) == "hatch"


def test_a_unit_of_a_million_characters_is_clipped(case_of):
    case = case_of(text="---\nname: long\ndescription: x\n---\n\n" + "x" * 1_000_000 + "\n\n- short\n", files={})
    text = page(case.valuation, case.compiled, case.records)
    assert "more characters" in text
    assert len(text) < 300_000


HEAD = "---\nname: x\ndescription: y\n---\n\n"


def test_a_cycle_is_shown_as_one_unit_with_its_members(case_of):
    case = case_of(
        text=HEAD + "## Steps\n\n```python\ndef alpha(): beta()\n```\n\n```python\ndef beta(): alpha()\n```\n",
        files={},
    )
    (contraction,) = case.compiled.contractions
    text = page(case.valuation, case.compiled, case.records)
    assert "Cycles merged into one unit" in text
    assert all(member in text for member in contraction.members)
    assert len(re.findall(UNIT, text)) == 1
    assert text.count('<div class="unit continued') == 1


@pytest.mark.parametrize("text", [HEAD, "Only one paragraph.\n", HEAD + "![](x)\n\n---\n"])
def test_the_smallest_skills_have_a_page(case_of, text):
    case = case_of(text=text, files={})
    shown = page(case.valuation, case.compiled, case.records)
    assert len(re.findall(UNIT, shown)) == len(execution_units(case.valuation))
    assert 'id="trigger"' in shown


def test_the_page_shows_binary_files_and_names_that_are_not_unicode(tmp_path, case_of):
    folder = tmp_path / "skill" / "data"
    folder.mkdir(parents=True)
    (folder / "picture.png").write_bytes(b"\x89PNG\x00\x01")
    case = case_of(text=HEAD + "- one\n", files={})
    text = page(replace(case.valuation, skill={"name": "odd\udcff"}), case.compiled, case.records)
    text.encode()
    assert "odd⟨U+DCFF⟩" in text
    assert "(not text: 6 bytes)" in text


def test_the_page_says_when_it_is_too_early(case, early):
    text = page(early, case.compiled, case.records)
    assert "Too early: the values explain 0 of 89 points" in text.split("</header>")[0]
    assert "<td>nan" not in text
