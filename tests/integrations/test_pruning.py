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


@pytest.mark.heavy
def test_worthless_and_harmful_lines_go_and_helpful_ones_stay(pruner):
    result = pruner.shorten(LINES, GAME.score)
    counts = count_lines(result.text)
    assert (counts.helpful, counts.useless) == (3, 0)
    assert len(result.removed) == 3
    assert 0 < result.rollouts == pruner.rollouts <= 600


@pytest.mark.heavy
def test_a_gain_is_not_traded_for_tokens(pruner):
    masked = LINES.replace("[harms-1-4] For requests of topic 1", "[harms-5-4] For requests of topic 5")
    counts = count_lines(pruner.shorten(masked, GAME.score).text)
    assert (counts.helpful, counts.useless) == (3, 0), "the line that the harmful one hid stays"


@pytest.mark.heavy
def test_a_text_of_which_nothing_would_be_left_stays(pruner):
    harmful = "# Rules\n\n" + "".join(f"- [harms-{topic}-{topic}] Never answer topic {topic}.\n" for topic in (0, 1, 2))
    easy = GrowthGame(seed=1, topics=6, easy=1.0)
    result = pruner.shorten(harmful, easy.score)
    assert result.text == harmful
    assert result.note == "Nothing would be left, so the text stays."
    assert "remove" in pruner.known_values(harmful), "the model that rewrites the text is told"


@pytest.mark.heavy
def test_a_second_pruning_of_the_same_text_costs_nothing(pruner):
    first = pruner.shorten(LINES, GAME.score)
    second = pruner.shorten(LINES, GAME.score)
    assert second.text == first.text
    assert second.rollouts == 0


@pytest.mark.heavy
def test_a_line_in_a_region_of_an_optimizer_stays(pruner):
    text = pruner.shorten(LINES + REGION, GAME.score).text
    assert "SLOW_UPDATE_START" in text
    assert "dead-2-7" in text
    assert "dead-0-2" not in text


@pytest.mark.heavy
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


@pytest.mark.heavy
def test_a_killed_optimization_pays_for_nothing_twice(tmp_path):
    policy = PrunePolicy(budget=600, jobs=1, run_dir=tmp_path / "rollouts")
    first = Pruner(EXAMPLES, policy).shorten(LINES, GAME.score)
    again = Pruner(EXAMPLES, policy).shorten(LINES, GAME.score)
    assert first.rollouts > 0
    assert (again.text, again.rollouts) == (first.text, 0)


@pytest.mark.heavy
def test_feedback_names_only_what_is_resolved(pruner):
    valuation = pruner.value(LINES, GAME.score)
    said = describe_values(valuation)
    by_mark = {line.split("]")[0].split("[")[1]: line for line in said.splitlines()[1:]}
    assert "helps" in by_mark["helps-3-1"].partition(";")[2]
    assert "does harm" in by_mark["harms-1-4"]
    assert pruner.known_values(LINES) == said
    assert "harms-1-4" not in describe_values(valuation, without=[_unit(valuation, "harms-1-4")])


@pytest.mark.heavy
def test_what_is_unresolved_is_not_mentioned():
    valuation = Pruner(EXAMPLES, PrunePolicy(budget=260, jobs=1)).value(LINES, GAME.score)
    unresolved = [unit for unit in valuation.units if unit.action == "unresolved"]
    assert unresolved
    assert not any(unit.text.strip() in describe_values(valuation) for unit in unresolved)


@pytest.mark.heavy
def test_records_for_trace2skill_hold_no_helpful_line(pruner):
    records = value_records(pruner.value(LINES, GAME.score))
    contents = [item["content"] for record in records for item in record["items"]]
    assert any("harms-1-4" in text for text in contents)
    assert not any("helps" in text for text in contents)
    assert all(record["instance_id"] and record["items"][0]["type"] == "failure_memory" for record in records)


@pytest.mark.heavy
def test_a_pruning_waits_until_its_share_of_all_metric_calls_pays_for_it():
    pruner = Pruner(EXAMPLES, PrunePolicy(budget=600, share=0.25, least_budget=300, jobs=1), own_calls=800)
    early = pruner.shorten(LINES, GAME.score)
    assert (early.text, early.postponed, pruner.rollouts) == (LINES, True, 0)
    assert "leaves 266 rollouts for it after 800 metric calls" in early.note
    pruner.own_calls = 1200
    later = pruner.shorten(LINES, GAME.score)
    assert count_lines(later.text).useless == 0
    assert not later.postponed
    assert 0 < pruner.rollouts <= 400, "a quarter of all calls, its own included"


def test_what_pruning_spent_counts_against_its_share():
    policy = PrunePolicy(share=0.25)
    assert [policy.affordable(own, 0) for own in (0, 1200, 2400, 6000)] == [0, 400, 800, 800]
    assert [policy.affordable(2400, spent) for spent in (300, 800, 900)] == [500, 0, 0]


def test_a_total_is_never_exceeded_and_a_small_one_is_left_to_the_optimizer():
    small, large = PrunePolicy(total=1200), PrunePolicy(total=3000)
    assert (small.optimizer_calls, large.optimizer_calls) == (1200, 2200)
    assert [small.is_enough(small.affordable(own, 0)) for own in range(0, 1201, 100)] == [False] * 13
    assert [large.affordable(own, 0) for own in (2200, 2500)] == [800, 500]
    assert [large.affordable(1800, 400, last=last) for last in (False, True)] == [371, 800]
    assert [PrunePolicy().affordable(1800, 400, last=last) for last in (False, True)] == [371, 371]


@pytest.mark.heavy
def test_a_noisy_agent_is_pruned_once_after_the_end_of_the_optimizer():
    noisy = GrowthGame(seed=1, topics=6, flips=0.1)
    pruner = Pruner(EXAMPLES, PrunePolicy(budget=900, total=6000, jobs=1), own_calls=3000)
    first = pruner.shorten(LINES, noisy.score)
    assert (first.text, first.postponed, pruner.noisy) == (LINES, True, True)
    assert 0 < first.rollouts <= 90, "the first batch alone"
    assert "after the end of the optimizer" in first.note
    assert pruner.shorten(LINES, noisy.score).rollouts == 0
    last = pruner.shorten(LINES, noisy.score, last=True)
    assert count_lines(last.text).helpful == 3
    assert count_lines(last.text).useless < 3
    assert pruner.rollouts <= 900, "the last pruning continues the run of the first batch"


@pytest.mark.heavy
def test_a_noisy_agent_is_pruned_where_nobody_counts_calls():
    noisy = GrowthGame(seed=1, topics=6, flips=0.1)
    result = Pruner(EXAMPLES, PrunePolicy(budget=900, jobs=1)).shorten(LINES, noisy.score)
    assert count_lines(result.text).useless < 3


def test_without_a_total_there_is_no_part_of_it():
    with pytest.raises(sv.errors.SettingsError, match="total"):
        _ = PrunePolicy().optimizer_calls


@pytest.mark.parametrize("wrong", [{"every": 0}, {"budget": 0}, {"share": 0.0}, {"share": 1.0}])
def test_a_policy_that_cannot_work_is_refused(wrong):
    with pytest.raises(sv.errors.SettingsError):
        PrunePolicy(**wrong)


def _unit(valuation, mark):
    return next(unit.id for unit in valuation.units if mark in unit.text)
