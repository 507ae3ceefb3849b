"""The paper's verifier: exact match and overlap of words, on a table of the ways in which models answer."""

from __future__ import annotations

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsv.model.rollout import Outcome
from skillsv.model.task import Task
from skillsv_bench.officeqa import BENCHMARK
from skillsv_bench.officeqa.verify import METRICS, AnswerVerifier, exact_match, extract_answer, token_f1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>5</answer>", "5"),
        ("so <ANSWER>\n 5 \n</Answer> then", "5"),
        ("<answer>5</answer> or <answer>6</answer>", "5"),  # the first counts
        ("<answer></answer>", ""),
        ("<answer>5", None),
        ("5", None),
        ("", None),
    ],
)
def test_the_first_answer_counts(text, answer):
    assert extract_answer(text) == answer


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("2,602", "2602", 1),
        ("$2,602 million", "2,602", 1),
        ("2602 Millions of nominal dollars", "2602 of", 1),
        ("one billion", "one", 1),
        ("5%", "5", 0),  # the sign of percent counts
        ("5 %", "5%", 0),
        ("-5", "5", 0),
        ("(5)", "5", 1),  # parentheses do not
        ("5.0", "5", 0),  # numbers are words here
        ("5.", "5", 0),
        ("1.234", "1,234", 0),
        ("  March   1977 ", "march 1977", 1),
        ("March, 1977", "march 1977", 1),
        ("[1, 2]", "1 2", 1),
        ("12 thousand", "12", 0),  # no such word is dropped
        ("5 percent", "5%", 0),
        ("billionaire", "aire", 0),  # whole words only
        ("\N{MINUS SIGN}5", "-5", 0),
        ("", "5", 0),
        ("dollars", "million", 1),  # nothing is left of either
    ],
)
def test_exact_match(answer, gold, same):
    assert exact_match(answer, gold) == exact_match(gold, answer) == same


@pytest.mark.parametrize(
    ("answer", "gold", "share"),
    [
        ("march 1977", "March 1977", 1.0),
        ("1977", "March 1977", 2 / 3),
        ("in march of 1977", "march 1977", 2 / 3),
        ("a a b", "a b b", 2 / 3),
        ("4", "5", 0.0),
        ("", "5", 0.0),
        ("$", "dollars", 1.0),
    ],
)
def test_overlap_of_words(answer, gold, share):
    assert token_f1(answer, gold) == pytest.approx(share)


@given(st.text("ab 1,.%$-", max_size=12), st.text("ab 1,.%$-", max_size=12))
def test_overlap_is_symmetric_and_one_where_the_match_is_exact(one, other):
    assert 0 <= token_f1(one, other) == token_f1(other, one) <= 1
    if exact_match(one, other):
        assert token_f1(one, other) == 1


def score(answer: str, gold: str, **options) -> float:
    task = Task(id="q", input="?", target=gold)
    return anyio.run(lambda: AnswerVerifier(**options).score(task, Outcome(answer=answer), None))


def test_the_verifier_gives_exact_match_unless_told_otherwise():
    assert score("<answer>1977</answer>", "March 1977") == 0.0
    assert score("<answer>1977</answer>", "March 1977", metric="f1") == pytest.approx(2 / 3)
    assert score("<answer>$1,977 million</answer>", "1977") == 1.0
    assert set(METRICS) == {"em", "f1", "upstream"}


@pytest.mark.parametrize("metric", ["em", "f1", "upstream"])
@pytest.mark.parametrize("answer", ["", "5", "<answer></answer>", "<answer> </answer>", "<answer>5"])
def test_an_answer_without_tags_or_words_is_wrong(metric, answer):
    assert score(answer, "5", metric=metric) == 0.0


def test_upstreams_rules_take_either_tags():
    assert score("<answer>5.0</answer>", "5", metric="upstream") == 1.0
    assert score("<answer>4</answer><FINAL_ANSWER>5</FINAL_ANSWER>", "5", metric="upstream") == 1.0
    assert score("<answer>5</answer><FINAL_ANSWER>4</FINAL_ANSWER>", "5", metric="upstream") == 0.0


@pytest.mark.parametrize("metric", ["em", "f1", "upstream"])
def test_on_the_invented_questions_gold_is_one_and_nothing_is_zero(tasks, tmp_path, metric):
    verifier = AnswerVerifier(metric)

    async def scores(name: str) -> set[float]:
        agent = BENCHMARK.builtin_agents[name]()
        return {
            await verifier.score(task, await agent.run(None, task, 0, tmp_path), tmp_path) for task in tasks.values()
        }

    assert anyio.run(scores, "reference") == {1.0}
    assert anyio.run(scores, "noop") == {0.0}
