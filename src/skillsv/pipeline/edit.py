"""From values to a shorter skill."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillsv.compile import compile_skill
from skillsv.confirm.pairs import partners_of
from skillsv.decide import Goal, how_far, pruning_path, removable
from skillsv.errors import RecordsError
from skillsv.model.coalition import Coalition, Operator, Rendering
from skillsv.model.edit import PruneStep
from skillsv.model.value import Action
from skillsv.pipeline.job import make_renderer
from skillsv.pipeline.run import Run
from skillsv.render import Renderer
from skillsv.settings import compile_options

REMOVABLE = frozenset({Action.DELETE, Action.HARMFUL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """A shorter skill: what goes, step by step, and both versions as files."""

    steps: tuple[PruneStep, ...]
    before: Rendering
    after: Rendering
    tokens_before: int
    tokens_after: int

    @property
    def removed(self) -> tuple[str, ...]:
        """All units that go."""
        return tuple(unit for step in self.steps for unit in step.removed)


def prune(run: Run, goal: Goal | None, actions: frozenset[Action] = REMOVABLE) -> Pruned:
    """Shorten the skill of a run: as far as the goal asks, or by the verdicts in `actions` where there is none."""
    renderer = make_renderer(run.compiled, run.settings)
    among = None
    if goal is None:
        among = removable(run.compiled, (unit.verdict for unit in run.valuation.units), actions)
    path = path_of(run, renderer, among)
    steps = path if goal is None else path[: how_far(path, goal)]
    everything = run.compiled.everything
    after = renderer.render(steps[-1].kept if steps else everything, Operator.DELETE)
    return Pruned(
        steps=steps,
        before=renderer.render(everything, Operator.DELETE),
        after=after,
        tokens_before=renderer.total_tokens,
        tokens_after=renderer.count_tokens(after),
    )


def path_of(run: Run, renderer: Renderer, among: Iterable[str] | None = None) -> tuple[PruneStep, ...]:
    """The pruning path by the values of a run, which know redundant and complementary pairs, to its end."""
    values = {unit.id: unit.value.net.value for unit in run.valuation.units}
    partners = partners_of(run.compiled, run.records, run.observations)
    return pruning_path(run.compiled, values, lambda kept: tokens_of_kept(renderer, kept), among, partners=partners)


def original_of(run: Run, *, check: bool = True) -> Path:
    """Where the skill of a run was read from; with `check`, refused where it has changed since."""
    place = Path(run.manifest["about"]["skill"])
    if check:
        now = compile_skill(place, compile_options(run.settings))
        if now.digest != run.compiled.digest:
            raise RecordsError(
                "the skill has changed since it was valued.",
                where=str(place),
                hint="Write to another folder with -o, or value it again.",
            )
    return place


def tokens_of_kept(renderer: Renderer, kept: Coalition) -> int:
    """The tokens of what a coalition renders to by deletion."""
    return renderer.count_tokens(renderer.render(kept, Operator.DELETE))
