"""The noise of prompts that several chains share."""

import numpy as np
import pytest

from skillsv.estimate.shared_noise import SharedNoise, noise_variance
from skillsv.model.coalition import Operator


def test_noise_variance_comes_from_neighbouring_differences(make_skill, make_chain, make_order):
    compiled, rng = make_skill(tuple("abcdefghij")), np.random.default_rng(3)
    tasks = tuple(f"t{number}" for number in range(8))
    deterministic = [
        make_chain(k, make_order(compiled, rng), tasks, lambda kept, *_: float("c" in kept)) for k in range(30)
    ]
    random = [make_chain(k, make_order(compiled, rng), tasks, lambda *_: float(rng.random() < 0.2)) for k in range(30)]
    assert noise_variance(deterministic, Operator.DELETE) == 0.0
    assert noise_variance(random, Operator.DELETE) == pytest.approx(0.16, abs=0.02)


def test_shared_prompts_add_variance_only_for_a_noisy_agent(make_skill, make_chain):
    compiled, rng = make_skill(("a", "b", "c")), np.random.default_rng(3)
    answers: dict[object, float] = {}

    def game(kept, task, operator):
        return answers.setdefault((kept, task), float(rng.random() < 0.5))

    orders = [("m", "a", "b", "c")] * 2
    same = [make_chain(k, order, ("t0", "t1"), game) for k, order in enumerate(orders)]
    other = [same[0], make_chain(1, orders[1], ("t2", "t3"), game)]
    shared, apart = (SharedNoise(compiled, records, Operator.DELETE) for records in (same, other))
    shared.noise = apart.noise = 0.25
    # Two chains score the same two prompts on both sides: 2 tasks * 2 ordered pairs * 2 sides over (2 * 2)^2 answers.
    assert shared.unit_variances() == pytest.approx([0.25 * 8 / 16] * 3)
    assert shared.sum_variance(np.array([True, True, True])) == pytest.approx(0.25 * 8 / 16)
    assert apart.unit_variances() == pytest.approx([0.0] * 3)
    assert shared.anchor_variance() == pytest.approx(0.25 * 4 / 16)
