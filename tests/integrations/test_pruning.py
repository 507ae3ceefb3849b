"""Prune and confirm on texts whose lines have known effects, with no optimizer and no optional package."""

import pytest

import skillsv as sv
from skillsv.integrations.feedback import describe_values
from skillsv.integrations.pruning import PrunePolicy, Pruner
from skillsv.integrations.trace2skill import value_records
from skillsv_bench.optimizers.growth import GrowthGame, count_lines

LINES = """\
# Rules

- [helps-3-1] For requests of topic 3, check the units before you answer.
- [dead-0-2] For requests of topic 0, name the source before you answer.
- [helps-4-3] For requests of topic 4, prefer the table before you answer.
- [harms-1-4] For requests of topic 1, state the date before you answer.
- [helps-5-5] For requests of topic 5, keep the order before you answer.
- [dead-0-6] For requests of topic 0, ask for the id before you answer.
"""

REGION = """
<!-- SLOW_UPDATE_START -->
- [dead-2-7] For requests of topic 2, do nothing.
<!-- SLOW_UPDATE_END -->
"""

GAME = GrowthGame(seed=1, topics=6)
EXAMPLES = GAME.examples("train", 120)


@pytest.fixture
def pruner():
    return Pruner(EXAMPLES, PrunePolicy(budget=600, jobs=1))


def test_worthless_and_harmful_lines_go_and_helpful_ones_stay(pruner):
    result = pruner.shorten(LINES, GAME.score)
    counts = count_lines(result.text)
    assert (counts.helpful, counts.useless) == (3, 0)
    assert len(result.removed) == 3
    assert 0 < result.rollouts == pruner.rollouts <= 600


def test_a_gain_is_not_traded_for_tokens(pruner):
    masked = LINES.replace("[harms-1-4] For requests of topic 1", "[harms-5-4] For requests of topic 5")
    counts = count_lines(pruner.shorten(masked, GAME.score).text)
    assert (counts.helpful, counts.useless) == (3, 0), "the line that the harmful one hid stays"


def test_a_text_of_which_nothing_would_be_left_stays(pruner):
    harmful = "# Rules\n\n" + "".join(f"- [harms-{topic}-{topic}] Never answer topic {topic}.\n" for topic in (0, 1, 2))
    easy = GrowthGame(seed=1, topics=6, easy=1.0)
    result = pruner.shorten(harmful, easy.score)
    assert result.text == harmful
    assert result.note == "Nothing would be left, so the text stays."
    assert "remove" in pruner.known_values(harmful), "the model that rewrites the text is told"


def test_a_second_pruning_of_the_same_text_costs_nothing(pruner):
    first = pruner.shorten(LINES, GAME.score)
    second = pruner.shorten(LINES, GAME.score)
    assert second.text == first.text
    assert second.rollouts == 0


def test_a_line_in_a_region_of_an_optimizer_stays(pruner):
    text = pruner.shorten(LINES + REGION, GAME.score).text
    assert "SLOW_UPDATE_START" in text
    assert "dead-2-7" in text
    assert "dead-0-2" not in text


def test_a_loss_on_held_out_examples_keeps_the_text():
    seen = set()

    def fickle(text, example):
        """A helpful line looks dead on the examples of the values, which are the first that are asked about."""
        if len(seen) < 40:
            seen.add(example["id"])
        return 1.0 if example["topic"] == 3 and example["id"] in seen else GAME.score(text, example)

    harmless = "".join(line for line in LINES.splitlines(keepends=True) if "harms" not in line)
    result = Pruner(EXAMPLES, PrunePolicy(budget=600, jobs=1)).shorten(harmless, fickle)
    assert "[helps-3-1]" in result.text


def test_a_text_without_any_effect_is_left_alone(pruner):
    text = "# Rules\n\n- one\n- two\n- three\n- four\n"
    result = pruner.shorten(text, lambda _text, _example: 0.5)
    assert (result.text, result.removed) == (text, ())
    assert "no difference" in result.note


def test_a_short_text_is_not_valued(pruner):
    assert pruner.shorten("# Rules\n\n- one\n", GAME.score).rollouts == 0


def test_a_killed_optimization_pays_for_nothing_twice(tmp_path):
    policy = PrunePolicy(budget=600, jobs=1, run_dir=tmp_path / "rollouts")
    first = Pruner(EXAMPLES, policy).shorten(LINES, GAME.score)
    again = Pruner(EXAMPLES, policy).shorten(LINES, GAME.score)
    assert first.rollouts > 0
    assert (again.text, again.rollouts) == (first.text, 0)


def test_feedback_names_only_what_is_resolved(pruner):
    valuation = pruner.value(LINES, GAME.score)
    said = describe_values(valuation)
    by_mark = {line.split("]")[0].split("[")[1]: line for line in said.splitlines()[1:]}
    assert "helps" in by_mark["helps-3-1"].partition(";")[2]
    assert "does harm" in by_mark["harms-1-4"]
    assert pruner.known_values(LINES) == said
    assert "harms-1-4" not in describe_values(valuation, without=[_unit(valuation, "harms-1-4")])


def test_what_is_unresolved_is_not_mentioned():
    valuation = Pruner(EXAMPLES, PrunePolicy(budget=260, jobs=1)).value(LINES, GAME.score)
    unresolved = [unit for unit in valuation.units if unit.action == "unresolved"]
    assert unresolved
    assert not any(unit.text.strip() in describe_values(valuation) for unit in unresolved)


def test_records_for_trace2skill_hold_no_helpful_line(pruner):
    records = value_records(pruner.value(LINES, GAME.score))
    contents = [item["content"] for record in records for item in record["items"]]
    assert any("harms-1-4" in text for text in contents)
    assert not any("helps" in text for text in contents)
    assert all(record["instance_id"] and record["items"][0]["type"] == "failure_memory" for record in records)


@pytest.mark.parametrize("wrong", [{"every": 0}, {"budget": 0}])
def test_a_policy_that_cannot_work_is_refused(wrong):
    with pytest.raises(sv.errors.SettingsError):
        PrunePolicy(**wrong)


def _unit(valuation, mark):
    return next(unit.id for unit in valuation.units if mark in unit.text)
