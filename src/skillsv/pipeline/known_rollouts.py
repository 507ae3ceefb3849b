"""What an edited skill takes over from its earlier run: coalitions that render the same bytes, and are paid for.

A rollout is stored under what the agent read. A coalition without the edited unit reads the same after the edit, so it
costs nothing. The run asks for these coalitions first, and has then only to learn what the edit changed. Where text
changed in place under an agent that repeats itself, it asks next where the earlier version's scores changed with the
edited unit present: these few rollouts find the deciding units again that only such coalitions had shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from skillsv.compiler import compile_skill
from skillsv.errors import RecordsError, SkillError
from skillsv.estimate.adaptive.deciding_pairs import find_deciding_pairs
from skillsv.model.coalition import AdaptiveReason, Coalition, KnownAnswers, KnownCoalition, Observation
from skillsv.model.format import count
from skillsv.model.rollout import RolloutKey
from skillsv.model.skill import Block, CompiledSkill, Leaf
from skillsv.pipeline.job import PreparedRun, make_manifest
from skillsv.rollout import Ledger, RunFolder
from skillsv.rollout.run_folder import run_id
from skillsv.settings import compile_options

NEW_SHARE = 0.4
"""Share of the budget that a run pays anew after an edit: it has only to learn what the edit changed."""

LEAST_SHARE = 0.75
"""Share of the budget's answers, free ones included, that a run after an edit has at least."""

_KEPT_REASONS = frozenset({AdaptiveReason.PATTERN, AdaptiveReason.VERIFY, AdaptiveReason.SAMPLE})
"""Reasons that a run takes over: the estimate learns from these scores how often a forecast fails."""


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
    steady = not any(item.agent_is_noisy or item.why == AdaptiveReason.NOISY_TASK for item in observations)
    coalitions = tuple(_stored(prepared, folder, observations))
    if sum(not item.coalition for item in coalitions) < len(prepared.panel_a.tasks):  # the bare agent would cost some
        coalitions = tuple(item for item in coalitions if item.coalition)
    changes = tuple(_find_changes(earlier, prepared, observations)) if steady and coalitions else ()
    asked = {item.task for item in observations}
    new_tasks = any(task.id not in asked for task in prepared.panel_a.tasks)  # nothing is known of noise on these
    return KnownAnswers(coalitions=coalitions, changes=changes, steady=steady and not new_tasks)


def _find_changes(
    earlier: CompiledSkill, prepared: PreparedRun, observations: Sequence[Observation]
) -> Iterator[KnownCoalition]:
    """The coalitions with edited units that showed which units decide a task; none where units have other places."""
    if _structure(earlier) != _structure(prepared.compiled):
        return
    names = dict(zip(_names(earlier), _names(prepared.compiled), strict=True))
    tasks = {task.id for task in prepared.panel_a.tasks}
    for item in find_deciding_pairs(earlier, observations):
        coalition = frozenset(names[unit] for unit in item.coalition)
        if coalition != item.coalition and item.task in tasks:
            yield KnownCoalition(task=item.task, coalition=coalition)


def _names(compiled: CompiledSkill) -> list[str]:
    return [unit.id for unit in compiled.units]


def _structure(compiled: CompiledSkill) -> tuple[object, ...]:
    """What decides the orders of a skill: dependencies and hierarchy, with places for names."""
    place = {unit: index for index, unit in enumerate(_names(compiled))}

    def shape(node: Block | Leaf) -> object:
        return place[node.unit] if isinstance(node, Leaf) else tuple(shape(child) for child in node.children)

    edges = {(place[edge.source], place[edge.target]) for edge in compiled.edges}
    return len(place), frozenset(edges), shape(compiled.hierarchy)


def count_free(prepared: PreparedRun) -> int:
    """The answers that cost nothing: what is known, and the trigger alone, on every task."""
    operators, tasks = len(prepared.job.settings.operators), len(prepared.panel_a.tasks)
    known = [bool(item.coalition) for item in prepared.known.coalitions]  # all operators share the bare agent
    return operators * (sum(known) + tasks) + known.count(False) if known else 0


def count_wanted(prepared: PreparedRun, rollouts: int) -> int:
    """The answers that a run with this budget asks for in all, free ones included."""
    return shortened(rollouts, count_free(prepared))


def shortened(rollouts: int, free: int) -> int:
    """The answers of a run of which `free` cost nothing: at most a quarter less than its budget."""
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
                why = AdaptiveReason(item.why) if item.why in _KEPT_REASONS else AdaptiveReason.KNOWN
                yield KnownCoalition(task=item.task, coalition=item.coalition, why=why)


class _CoalitionsOf:
    """Which sets of names are partial skills of a compiled skill: closed, with the trigger, not all of it; or none."""

    def __init__(self, compiled: CompiledSkill) -> None:
        self._compiled = compiled
        self._known: dict[Coalition, bool] = {}

    def has(self, coalition: Coalition) -> bool:
        """Whether the names are a coalition of this skill between the trigger and the full skill, or the bare agent."""
        if coalition not in self._known:
            everything, trigger = self._compiled.everything, self._compiled.trigger
            inner = {trigger} < coalition < everything
            self._known[coalition] = not coalition or (inner and self._compiled.closure(coalition) == coalition)
        return self._known[coalition]
