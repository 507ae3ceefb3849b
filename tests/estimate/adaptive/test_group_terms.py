import numpy as np
import pytest

from skillsv.estimate.adaptive.group_terms import LEAST_SPREAD, SPREAD, GroupTerms
from skillsv.estimate.adaptive.unit_groups import GROUPS, MEANS, REACHES


def test_the_chance_of_a_group_is_the_integral_over_weights_and_tasks():
    information, pull = np.array([[2.0, 0.5, 1.0]]), np.array([[3.0, -0.5, 1.0]])
    found = GroupTerms(information)
    log_likelihood = found.log_likelihood(found.likelihood_ratios(pull))
    mean, reach = len(MEANS) - 3, 1
    spread = np.hypot(SPREAD * MEANS[mean], LEAST_SPREAD)
    weight = np.linspace(-20, 20, 40_001)
    density = np.exp(-0.5 * ((weight - MEANS[mean]) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    tasks = [
        1 - REACHES[reach] + REACHES[reach] * np.sum(density * np.exp(b * weight - a * weight**2 / 2)) * 0.001
        for a, b in zip(information[0], pull[0], strict=True)
    ]
    assert log_likelihood[0, mean * len(REACHES) + reach] == pytest.approx(np.log(tasks).sum(), abs=1e-4)
    assert log_likelihood[0, GROUPS] == 0.0
