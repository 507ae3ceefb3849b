"""Pruning of skills with known values: the right units first, and better curves than the baselines."""

from dataclasses import replace

import numpy as np
import pytest

from skillsv.confirmation import areas, choose_checkpoints, pooled, score_on_panel
from skillsv.confirmation.baselines import closure_loo, closure_loo_requests, random_ranking
from skillsv.decide import find_removable, pruning_path, verdicts
from skillsv.decide.interactions import find_partners, find_suspected_pairs
from skillsv.estimate import estimate_chains
from skillsv.model.task import PanelB
from skillsv.model.value import Action
from skillsv_bench.planted import Noise, planted_skill
from skillsv_bench.planted.game import Role
from skillsv_bench.planted.simulate import SharedNoise, answer_requests, make_plans, record_chains

RULES = Noise()
CHECKPOINTS = 10


class Study:
    """One planted game: values from panel A, pruning scored on panel B."""

    def __init__(self, kind, seed, *, chains=64, noise=RULES):
        self.rng = np.random.default_rng([seed, 8])
        game = planted_skill(kind, seed)
        dealt = self.rng.permutation(len(game.tasks))
        half = len(dealt) // 2
        a, b = (tuple(game.tasks[place] for place in sorted(part)) for part in (dealt[:half], dealt[half:]))
        self.game, self.noise = game, noise
        self.compiled, self.panel_b = game.compiled, PanelB(tasks=b)
        throws = 1 if noise == RULES else 3  # replicates on panel B, as the product has for a noisy agent
        self.shared_noise = [SharedNoise.draw(game, self.rng) for _ in range(throws)]
        seen = replace(game, tasks=a)
        seen_noise = SharedNoise.draw(seen, self.rng)
        plans = make_plans(seen, self.rng, chains=chains, window=8, tolerance=None)
        records = record_chains(seen, plans, noise=noise, shared_noise=seen_noise)
        self.estimate = estimate_chains(self.compiled, records)
        self.records = records
        values = {unit.id: unit.net.value for unit in self.estimate.units}
        self.values = {
            "skillsv": [values],
            "skillsv-pairs": [values],
            "loo": [self.left_out(seen, [task.id for task in a], seen_noise)],
            "random": [
                {unit: value.value for unit, value in random_ranking(self.compiled, self.rng).values.items()}
                for _ in range(3)
            ],
        }

    def left_out(self, seen, tasks, shared_noise):
        """Closure-LOO as in the paper: once on the whole of panel A."""
        requests = closure_loo_requests(self.compiled, tasks)
        answers = answer_requests(seen, requests, noise=self.noise, shared_noise=shared_noise)
        return {unit: value.value for unit, value in closure_loo(self.compiled, tasks, answers).values.items()}

    def tokens(self, kept):
        return 10 * len(kept)

    def path(self, method, number=0):
        values = self.values[method][number]
        additive = method in {"skillsv", "skillsv-pairs"}
        partners = find_partners(self.compiled, self.records, ()) if method == "skillsv-pairs" else None
        return pruning_path(self.compiled, values, self.tokens, additive=additive, partners=partners)

    def scored(self, versions):
        policy = score_on_panel(self.panel_b, versions, replicates=len(self.shared_noise))
        requests = next(policy)
        answers = {}
        for number, shared_noise in enumerate(self.shared_noise):
            own = [request for request in requests if request.replicate == number]
            answers |= answer_requests(self.game, own, noise=self.noise, shared_noise=shared_noise)
        try:
            policy.send(answers)
        except StopIteration as done:
            return done.value
        raise AssertionError

    def areas(self):
        """The area under each method's curve, task by task on panel B."""
        everything = self.compiled.everything
        checkpoints = {
            method: [
                choose_checkpoints(everything, self.path(method, number), self.tokens(everything), CHECKPOINTS)
                for number in range(len(values))
            ]
            for method, values in self.values.items()
        }
        scores = self.scored([kept for paths in checkpoints.values() for path in paths for kept in path.kept])
        return {method: areas(scores, paths) for method, paths in checkpoints.items()}


@pytest.mark.parametrize("seed", range(4))
def test_harmful_and_dead_units_go_first_and_redundant_ones_at_no_loss(seed):
    study = Study("mechanism", seed)
    roles = study.game.role_of
    path = study.path("skillsv-pairs")
    assert roles[path[0].unit] is Role.HARMFUL
    assert roles[path[1].unit] is Role.DEAD
    scores = study.scored([study.compiled.everything, *(step.kept for step in path)])
    means = scores.scores.mean(axis=1)
    assert means[1] > means[0]
    assert means[2] == means[1]
    assert means[3:].max() <= means[2]
    # Redundant units: removing the first loses nothing, removing the second lowers the score.
    pair = [place for place, step in enumerate(path, start=1) if roles[step.unit] is Role.OR]
    assert means[pair[0]] == means[pair[0] - 1]
    assert means[pair[1]] < means[pair[1] - 1]


@pytest.mark.parametrize("seed", range(4))
def test_verdicts_never_delete_both_of_a_redundant_pair(seed):
    study = Study("mechanism", seed)
    decided = verdicts(study.compiled, study.estimate, dict.fromkeys(study.compiled.execution, 10))
    removed = find_removable(study.compiled, decided, frozenset({Action.DELETE, Action.HARMFUL}))
    pair = {unit for unit, role in study.game.role_of.items() if role is Role.OR}
    assert len(pair) == 2
    assert not pair <= removed
    left_out = {unit for unit in pair if study.values["loo"][0][unit] <= 0}
    assert left_out == pair  # leave-one-out calls both worthless


SHAPED = ("livemath", "officeqa", "spreadsheet", "alfworld")


def gain_over(other, games, method="skillsv"):
    """The pooled gain in area over another method; tasks of panel B are drawn within each game."""
    return pooled([areas[method] - areas[other] for areas in games], 0.95, np.random.default_rng(0))


@pytest.mark.heavy
def test_with_pairs_skillsv_prunes_better_than_leave_one_out_and_chance():
    """The paper's mechanisms with twenty draws of panels and chains: redundant and complementary pairs, a harmful and a
    dead unit. Plain ascending values are not shown to prune better than leave-one-out on this game."""
    games = [Study("mechanism", seed).areas() for seed in range(20)]
    for other in ("loo", "random", "skillsv"):
        assert gain_over(other, games, "skillsv-pairs").low > 0
    assert gain_over("random", games).low > 0


@pytest.mark.heavy
def test_skillsv_prunes_better_than_chance_on_large_skills():
    games = [Study(kind, seed, chains=24).areas() for kind in SHAPED for seed in range(5)]
    assert gain_over("random", games).low > 0


@pytest.mark.heavy
def test_with_a_noisy_agent_and_pairs_skillsv_beats_leave_one_out():
    """Eight wrong answers in a hundred. Leave-one-out is scored once on the whole of panel A, as in the paper; repeated
    until it costs as much as the chains, it does as well on these games."""
    games = [Study(kind, s, chains=96, noise=Noise(lapse=0.08)).areas() for kind in SHAPED for s in range(10)]
    assert gain_over("loo", games, "skillsv-pairs").low > 0
    assert gain_over("random", games, "skillsv-pairs").low > 0


def test_planted_pairs_are_suspected_from_chains():
    study = Study("mechanism", 0)
    first, second = find_suspected_pairs(study.compiled, study.records, ())[:2]
    roles = study.game.role_of
    kinds = {frozenset({roles[pair.first], roles[pair.second]}): pair.score for pair in (first, second)}
    assert kinds[frozenset({Role.OR})] < 0 < kinds[frozenset({Role.AND})]
