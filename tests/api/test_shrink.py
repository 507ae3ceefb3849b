"""A shrink by values: what a harmful line hides stays, and the units have values, also where the agent is steady."""

from hashlib import sha256

import pytest

import skillsv as sv

TEXT = """\
# Rules

- Rule of alpha: say alpha.
- Rule of beta: say beta.
- Never speak of beta, whatever is asked.
- A remark about the weather.
"""


def evaluate(text, example):
    """Beta is answered only where its rule stands and the line that forbids it does not."""
    if example["word"] == "beta" and "Never speak of beta" in text:
        return 0.0
    return float(f"say {example['word']}" in text)


EXAMPLES = [{"id": f"e{number}", "word": ("alpha", "beta")[number % 2]} for number in range(140)]


@pytest.mark.heavy
@pytest.mark.parametrize("by_values", [True, False])
def test_a_line_that_a_harmful_one_hides_stays_only_by_values(by_values, tmp_path):
    short = sv.shrink(
        TEXT,
        evaluate=evaluate,
        examples=EXAMPLES,
        max_drop=10,
        max_rollouts=600,
        by_values=by_values,
        jobs=1,
        run_dir=tmp_path / "run",
    )
    assert short.met
    assert "say alpha" in short.text
    assert "weather" not in short.text
    assert "Never speak" not in short.text
    assert ("say beta" in short.text) is by_values
    if by_values:
        actions = {unit.text.strip(): unit.action for unit in short.run.valuation.units}
        assert actions["- Never speak of beta, whatever is asked."] == "harmful"


def flip(text, example, rate):
    """Whether the score of this text on this example is wrong: a fixed choice, which any change of the text alters."""
    return int(sha256(f"{example['id']} {text}".encode()).hexdigest()[:8], 16) / 16**8 < rate


def test_only_steady_stops_at_the_first_sign_of_noise(tmp_path):
    calls = []

    def noisy(text, example):
        calls.append(example)
        return abs(evaluate(text, example) - flip(text, example, 0.2))

    with pytest.raises(sv.errors.NoisyAgent, match="a change that means nothing altered the scores of"):
        sv.shrink(
            TEXT,
            evaluate=noisy,
            examples=EXAMPLES,
            max_drop=10,
            max_rollouts=600,
            steady_only=True,
            jobs=1,
            run_dir=tmp_path / "run",
        )
    assert len(calls) <= 90, "the first batch alone"


class LaterNoisy:
    """Scores without noise at first; from the 200th call on one score in five is wrong."""

    def __init__(self):
        self.calls = 0

    def __call__(self, text, example):
        self.calls += 1
        return abs(evaluate(text, example) - (self.calls > 200 and flip(text, example, 0.2)))


@pytest.mark.heavy
def test_only_steady_stops_at_noise_that_is_found_late(tmp_path):
    later_noisy = LaterNoisy()
    with pytest.raises(sv.errors.NoisyAgent, match="later rollouts"):
        sv.shrink(
            TEXT,
            evaluate=later_noisy,
            version="later noisy",
            examples=EXAMPLES[:96],
            max_drop=20,
            max_rollouts=600,
            by_values=True,
            steady_only=True,
            jobs=1,
            run_dir=tmp_path / "run",
        )
    assert later_noisy.calls <= 330, "what a noisy agent's values may take"


@pytest.mark.heavy
def test_noise_that_is_found_late_does_not_exceed_the_budget(tmp_path):
    later_noisy = LaterNoisy()

    short = sv.shrink(
        TEXT,
        evaluate=later_noisy,
        version="later noisy",
        examples=EXAMPLES[:96],
        max_drop=20,
        max_rollouts=600,
        by_values=True,
        jobs=1,
        run_dir=tmp_path / "run",
    )
    assert short.document["noisy"]
    assert later_noisy.calls <= 600
    spent = short.document["rollouts"]
    assert spent["proof"] >= 200, "the look at noise leaves the proof its part"
