"""What an edited skill takes over from its earlier run: coalitions that render the same bytes, and are paid for.

A rollout is stored under what the agent read. A coalition without the edited unit reads the same after the edit, so it
costs nothing. The path of the adaptive method depends on the units' places and on the answers. Where neither changes
much (an agent that repeats itself, and text changed in place), the path is the old one and asks for most of these
coalitions anyway. Otherwise the run asks for them first, and has then only to learn what the edit changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from skillsv.compiler import compile_skill
from skillsv.errors import RecordsError, SkillError
from skillsv.model.coalition import Coalition, KnownAnswers, KnownCoalition, Observation
from skillsv.model.format import count
from skillsv.model.rollout import RolloutKey
from skillsv.model.skill import Block, CompiledSkill, Leaf
from skillsv.pipeline.job import PreparedRun, make_manifest
from skillsv.rollout import Ledger, RunFolder
from skillsv.rollout.run_folder import run_id
from skillsv.settings import compile_options

NEW_SHARE = 0.4
"""Share of the budget that a run pays anew after an edit: it has only to learn what the edit changed."""

LEAST_SHARE = 0.8
"""Share of the budget's answers, free ones included, that a run after an edit has at least."""


def find_known(prepared: PreparedRun, folder: RunFolder) -> KnownAnswers:
    """What the run in this folder, if it is one of another version of the skill, has scored for this run.

    A run that goes on takes what it took when it began: its path depends on it.
    """
    nothing = KnownAnswers()
    if prepared.job.settings.method != "auto" or not folder.run_id or not folder.ledger.exists():
        return nothing
    if folder.run_id == run_id(make_manifest(prepared)):
        return folder.known()
    skill = prepared.compiled.skill
    try:
        observations = folder.read_records().observations
        path = folder.skill / skill.main if skill.single_file else folder.skill
        earlier = compile_skill(path, compile_options(prepared.job.settings))
    except (RecordsError, SkillError):
        return nothing
    noisy = any(item.agent_is_noisy for item in observations)
    moved = _structure(earlier) != _structure(prepared.compiled)
    return KnownAnswers(coalitions=tuple(_stored(prepared, folder, observations)), ask_first=noisy or moved)


def _structure(compiled: CompiledSkill) -> tuple[object, ...]:
    """What decides the orders of a skill: dependencies and hierarchy, with places for names."""
    place = {unit.id: index for index, unit in enumerate(compiled.units)}

    def shape(node: Block | Leaf) -> object:
        return place[node.unit] if isinstance(node, Leaf) else tuple(shape(child) for child in node.children)

    edges = {(place[edge.source], place[edge.target]) for edge in compiled.edges}
    return len(place), frozenset(edges), shape(compiled.hierarchy)


def count_free(prepared: PreparedRun) -> int:
    """The answers that cost nothing: what is known, and the anchors without the edited units, on every task."""
    operators, tasks = len(prepared.job.settings.operators), len(prepared.panel_a.tasks)
    known = len(prepared.known.coalitions)
    return operators * known + (operators + 1) * tasks if known else 0


def count_wanted(prepared: PreparedRun, rollouts: int) -> int:
    """The answers that a run with this budget asks for in all, free ones included.

    A run along the path of the earlier one asks for as many: fewer would be the values of a smaller budget.
    """
    return shortened(rollouts, count_free(prepared)) if prepared.known.ask_first else rollouts


def shortened(rollouts: int, free: int) -> int:
    """The answers of a run of which `free` cost nothing: at most a fifth less than its budget."""
    if not free:
        return rollouts
    return min(rollouts, max(round(LEAST_SHARE * rollouts), free + int(NEW_SHARE * rollouts)))


def known_note(prepared: PreparedRun) -> str:
    """The sentence before spending: how much of the run is reused."""
    rollouts = prepared.forecast.expected.rollouts
    free = min(count_free(prepared), rollouts)
    new = max(count_wanted(prepared, rollouts) - free, 0)
    return (
        f"An earlier version of this skill was valued here: about {count(free)} of its answers hold for this version, "
        f"too, and cost nothing; at most about {count(new)} rollouts are new."
    )


def _stored(prepared: PreparedRun, folder: RunFolder, observations: Sequence[Observation]) -> Iterator[KnownCoalition]:
    """The coalitions whose every rollout is in the ledger, in the order in which they were asked for."""
    operators = prepared.job.settings.operators
    tasks = {task.id: task.digest for task in prepared.panel_a.tasks}
    possible = _CoalitionsOf(prepared.compiled)
    digests: dict[Coalition, list[str]] = {}
    seen: Counter[tuple[str, Coalition]] = Counter()
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        for item in observations:
            place = (item.task, item.coalition)
            if item.operator is not operators[0] or item.task not in tasks or not possible.has(item.coalition):
                continue
            if item.coalition not in digests:
                digests[item.coalition] = [prepared.renderer.render(item.coalition, each).digest for each in operators]
            keys = [
                RolloutKey(tree=tree, task=tasks[item.task], agent=prepared.agent.fingerprint, replicate=item.replicate)
                for tree in digests[item.coalition]
            ]
            stored = ledger.lookup(keys, counted=False)
            scored = all(key in stored and stored[key].score is not None for key in keys)
            if scored and item.replicate == seen[place]:
                seen[place] += 1
                yield KnownCoalition(task=item.task, coalition=item.coalition)


class _CoalitionsOf:
    """Which sets of names are partial skills of a compiled skill: closed, with the trigger, and not all of it."""

    def __init__(self, compiled: CompiledSkill) -> None:
        self._compiled = compiled
        self._known: dict[Coalition, bool] = {}

    def has(self, coalition: Coalition) -> bool:
        """Whether the names are a coalition of this skill between the trigger and the full skill."""
        if coalition not in self._known:
            everything, trigger = self._compiled.everything, self._compiled.trigger
            inner = {trigger} < coalition < everything
            self._known[coalition] = inner and self._compiled.closure(coalition) == coalition
        return self._known[coalition]
