"""The check before a run: does the skill change any score?

It is a policy over the anchors, so the run finds its rollouts in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from skillsv.model.coalition import Coalition, Operator, Scores
from skillsv.model.rollout import Request, RequestScores
from skillsv.rollout.chain_policy import Policy

FURTHER_BATCH = 8
"""So many further tasks are scored at a time while the skill has changed no score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """Scores of the bare agent and of the full skill. `same_tree`: both render to the same bytes."""

    empty: Scores
    full: Scores
    same_tree: bool = False

    @property
    def silent(self) -> bool:
        """Whether the skill changed no known score, although it renders to other bytes than no skill."""
        return not self.same_tree and bool(self.pairs) and all(bare == full for bare, full in self.pairs)

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Scores without and with the skill of the tasks where both are known."""
        return [
            (bare, full)
            for bare, full in zip(self.empty, self.full, strict=True)
            if bare is not None and full is not None
        ]

    def finding(self) -> str:
        """The finding for a skill that changed no score."""
        levels = {score for _, score in self.pairs}
        level = f"all score {min(levels):g}" if len(levels) == 1 else "each scores the same"
        return f"The skill changed no score on {len(self.pairs)} tasks ({level} with it and without it)."

    def advice(self) -> str:
        """What the user should check if the skill changed no score."""
        levels = {score for _, score in self.pairs}
        if levels == {0.0}:
            return "Check that the agent reads the skill and that the verifier accepts a right answer."
        if levels == {1.0}:
            return "Choose harder tasks, and check that the verifier rejects a wrong answer."
        return "Check that the agent reads the skill, or choose other tasks."

    def sentence(self) -> str | None:
        """What the user should know before paying for more; None if there is nothing to say."""
        if self.same_tree:
            return "The full skill renders to nothing: there is nothing to value."
        return f"{self.finding()} {self.advice()}" if self.silent else None


def check_activation(
    tasks: Sequence[str], everything: Coalition, *, same_tree: bool = False, further: Sequence[str] = ()
) -> Policy[Activation]:
    """Score the bare agent and the full skill on these tasks. `same_tree` says that both render to the same bytes.

    While no score differs, `further` tasks are scored as well, a few at a time.
    """
    batches = [tasks, *(further[start : start + FURTHER_BATCH] for start in range(0, len(further), FURTHER_BATCH))]
    activation = Activation(empty=(), full=(), same_tree=same_tree)
    for batch in batches:
        empty = tuple(anchor(frozenset(), task) for task in batch)
        full = tuple(anchor(everything, task) for task in batch)
        answers = yield (*empty, *full)
        activation = replace(
            activation,
            empty=(*activation.empty, *_scores(answers, empty)),
            full=(*activation.full, *_scores(answers, full)),
        )
        if not activation.silent:
            break
    return activation


def anchor(coalition: Coalition, task: str) -> Request:
    """One rollout of the bare agent (the empty coalition) or of the full skill."""
    return Request(coalition=coalition, operator=Operator.DELETE, task=task, replicate=0, why="check:activation")


def _scores(answers: RequestScores, requests: Iterable[Request]) -> Scores:
    return tuple(answers[request] for request in requests)
