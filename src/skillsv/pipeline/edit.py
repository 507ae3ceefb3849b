"""A shorter skill, from the values of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from skillsv.compiler import compile_skill
from skillsv.decide import Goal, count_steps, find_removable, pruning_path
from skillsv.decide.interactions import find_partners
from skillsv.decide.losses import PredictLoss, end_at_lift, sum_losses
from skillsv.decide.pruning import Partners
from skillsv.errors import RecordsError
from skillsv.estimate.adaptive import make_predictor
from skillsv.estimate.adaptive.prediction import PredictScore, can_tabulate, tabulate_chains
from skillsv.model.coalition import Operator, Rendering
from skillsv.model.edit import PruneStep
from skillsv.model.value import REMOVABLE, Action
from skillsv.pipeline.job import TRIGGER
from skillsv.pipeline.run import Run
from skillsv.settings import compile_options


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedSkill:
    """A shorter skill: what is removed, step by step, and both versions as files."""

    steps: tuple[PruneStep, ...]
    before: Rendering
    after: Rendering
    tokens_before: int
    tokens_after: int

    @property
    def removed(self) -> tuple[str, ...]:
        """All removed units."""
        return tuple(unit for step in self.steps for unit in step.removed)


def prune(run: Run, goal: Goal | None, actions: frozenset[Action] = REMOVABLE) -> PrunedSkill:
    """Shorten the skill of a run: as far as the goal asks, or by the verdicts in `actions` where there is none.

    Raises RecordsError for the run of a trigger evaluation, whose units are no units of a skill.
    """
    if run.manifest.get("about", {}).get("kit") == TRIGGER:
        raise RecordsError("this run evaluated the description of a skill.", hint="Shorten the description by hand.")
    among = None
    if goal is None:
        among = find_removable(run.compiled, (unit.verdict for unit in run.valuation.units), actions)
    path = path_of(run, among)
    steps = path if goal is None else path[: count_steps(path, goal)]
    everything, renderer = run.compiled.everything, run.renderer
    after = renderer.render(steps[-1].kept if steps else everything, Operator.DELETE)
    return PrunedSkill(
        steps=steps,
        before=renderer.render(everything, Operator.DELETE),
        after=after,
        tokens_before=renderer.total_tokens,
        tokens_after=renderer.count_tokens(after),
    )


def path_of(run: Run, among: Iterable[str] | None = None) -> tuple[PruneStep, ...]:
    """The whole pruning path by the values of a run; it takes suspected interactions into account."""
    partners, predict = predict_losses(run)
    return pruning_path(
        run.compiled,
        _values(run),
        run.renderer.tokens_left,
        among,
        partners=partners,
        predict=predict,
    )


def _values(run: Run) -> dict[str, float]:
    return {unit.id: unit.value.net_or_zero.value for unit in run.valuation.units}


@lru_cache(maxsize=1)
def partners_of(run: Run) -> Partners:
    """Units that the records of a run show to depend on each other, each with its closest partner; found once."""
    return find_partners(run.compiled, run.records, run.observations)


@lru_cache(maxsize=1)
def predict_losses(run: Run) -> tuple[Partners, PredictLoss]:
    """Partners, and losses by the model of an adaptive run, by tables of chains, or by the sums of values.

    All units together lose the content lift. The model is fitted once for a run, however often it is pruned.
    """
    partners, values = partners_of(run), _values(run)
    if run.observations:
        pairs = {(min(unit, partner), max(unit, partner)) for unit, (partner, *_) in partners.items()}
        predict = _losses_by_score(run, make_predictor(run.compiled, run.observations, sorted(pairs)))
    elif can_tabulate(run.records):
        predict = _losses_by_score(run, tabulate_chains(run.compiled, run.records))
    else:
        predict = sum_losses(values, partners)
    return partners, end_at_lift(predict, run.compiled, values, run.valuation.estimate.content_lift.value)


def _losses_by_score(run: Run, score: PredictScore) -> PredictLoss:
    full = score(run.compiled.everything)
    return lambda kept: full - score(kept)


def original_path(run: Run) -> Path | None:
    """The path that the skill of a run was read from; None where it was a text."""
    path = run.manifest["about"]["skill"]
    return Path(path) if path else None


def find_original(run: Run) -> Path:
    """The path of the skill of a run. Raises RecordsError where it was a text, or has changed since."""
    path = original_path(run)
    if path is None:
        raise RecordsError("the skill of this run was a text, not a file.", hint="Write it to a folder with -o.")
    current = compile_skill(path, compile_options(run.settings))
    if current.digest != run.compiled.digest:
        raise RecordsError(
            "the skill has changed since it was valued.",
            where=str(path),
            hint="Write to another folder with -o, or value it again.",
        )
    return path
