"""What to do next, by the state of the run: each step in one sentence, with the command that does it."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.edit import Confirmation, ProofOutcome
from skillsv.model.format import plural
from skillsv.model.value import Action, Valuation
from skillsv.report.edits import ShorterSkill
from skillsv.report.line_names import LineNames
from skillsv.report.run_facts import RunFacts
from skillsv.report.sentences import execution_units

NEARLY_REACHED = 0.95
"""A run that has used this share of its limit has reached it: it starts no round that the limit would cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """One thing to do. `command` is empty where no command does it."""

    sentence: str
    command: str = ""


def next_steps(
    valuation: Valuation,
    shorter: ShorterSkill | None,
    confirmation: Confirmation | None,
    facts: RunFacts,
    names: LineNames,
) -> list[NextStep]:
    """The steps that this run suggests, the most useful first."""
    run = facts.folder or "RUN"
    steps = [*_interrupted(valuation, facts), *_removals(shorter, confirmation, run)]
    units = execution_units(valuation)
    open_units = [unit.id for unit in units if unit.verdict.action is Action.UNRESOLVED]
    if open_units and not valuation.provisional:
        steps.append(_more_rollouts(valuation, open_units, facts, names))
    shorten = [unit.id for unit in units if unit.verdict.action is Action.COMPRESS]
    if shorten:
        sentence = f"Say {names.lines(shorten)} in fewer words: what they say helps, but their length costs points."
        steps.append(NextStep(sentence=sentence, command=f"skillsv refine {run}"))
    return steps or [NextStep(sentence="Nothing to do: every line is worth keeping on these tasks.")]


def _interrupted(valuation: Valuation, facts: RunFacts) -> list[NextStep]:
    if not valuation.provisional:
        return []
    done = f"{plural(valuation.rollouts.spent, 'rollout')} are kept and are not paid for again"
    command, budget = facts.value_command, valuation.next_budget or _larger_limit(valuation)
    if budget is not None and command:
        command = with_budget(command, budget)
    how = "" if command else " Call `value` again with the same arguments and run folder."
    return [NextStep(sentence=f"The run is not finished. Continue it: {done}.{how}", command=command)]


def _larger_limit(valuation: Valuation) -> int | None:
    """Twice the limit of rollouts where the run has reached it; None where something else ended the run."""
    limit = valuation.settings.get("max_rollouts")
    done = valuation.rollouts.spent + valuation.rollouts.reused
    return 2 * limit if isinstance(limit, int) and done >= NEARLY_REACHED * limit else None


def _removals(shorter: ShorterSkill | None, confirmation: Confirmation | None, run: str) -> list[NextStep]:
    if shorter is None or not shorter.removed:
        return []
    apply = f"skillsv prune {run} --in-place"
    if confirmation is None or not shorter.confirmed:
        check = NextStep(
            sentence="Check the shorter skill on tasks that no value has seen.", command=f"skillsv confirm {run}"
        )
        return [check, NextStep(sentence="Or write it without that proof.", command=apply)]
    if confirmation.outcome is ProofOutcome.NO_WORSE:
        return [NextStep(sentence="Apply the patch: the shorter skill is confirmed.", command=apply)]
    if confirmation.outcome is ProofOutcome.WORSE:
        return [NextStep(sentence="Keep the skill as written: the shorter one is worse on unseen tasks.")]
    more = "The held-out tasks are too few or too noisy to confirm it: confirm it on more of them, or repeat each task."
    return [NextStep(sentence=more, command=f"skillsv confirm {run} --replicates 3")]


def _more_rollouts(valuation: Valuation, open_units: list[str], facts: RunFacts, names: LineNames) -> NextStep:
    spent = valuation.rollouts.spent + valuation.rollouts.reused
    budget = valuation.next_budget or 2 * spent
    more = plural(max(0, budget - spent), "more rollout")
    lines = names.lines(open_units) if len(open_units) < len(execution_units(valuation)) else "all lines"
    verb = "is" if len(open_units) == 1 else "are"
    begin = f"{lines[:1].upper()}{lines[1:]} {verb} undecided."
    if valuation.next_budget is None:
        sentence = f"{begin} Twice as many rollouts ({more}) make the intervals about 30% narrower."
    else:
        sentence = f"{begin} Next sensible budget: {plural(budget, 'rollout')}, {more}."
    command = with_budget(facts.value_command, budget) if facts.value_command else ""
    return NextStep(sentence=sentence, command=command)


def with_budget(command: str, budget: int) -> str:
    """The command with this limit of rollouts in place of the one that it has."""
    words = command.split(" --max-rollouts ")
    tail = words[1].split(" ", 1)[1:] if len(words) > 1 else []
    return " ".join([words[0], *tail, f"--max-rollouts {budget}"])
