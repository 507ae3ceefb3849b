"""TextGrad: values of lines as a textual gradient, and an optimizer that prunes and confirms after its steps.

    from skillsv.integrations.textgrad import PruningTextualGradientDescent

    optimizer = PruningTextualGradientDescent(
        [prompt], engine=engine, evaluate=score, examples=trainset, policy=PrunePolicy(every=3, budget=400))
    loss.backward(); optimizer.step()

`evaluate(text, example)` scores a text on one example, from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textgrad import Variable
from textgrad.optimizer import TextualGradientDescent

from skillsv.integrations.pruning import Evaluate, PrunePolicy, Pruner, PruneResult

ROLE = "measured values of the lines of the text"
"""How TextGrad's prompts name the added gradient."""


class PruningTextualGradientDescent(TextualGradientDescent):
    """TextGrad's optimizer, which after every so many steps takes a shorter text where it is proved no worse.

    `results` has an entry for each pruning. `pruner.rollouts` counts the calls of `evaluate`: TextGrad has no budget of
    its own that they could be charged to.
    """

    def __init__(
        self,
        parameters: list[Variable],
        *,
        evaluate: Evaluate,
        examples: Sequence[Any],
        policy: PrunePolicy | None = None,
        version: str = "",
        **options: Any,
    ) -> None:
        super().__init__(parameters, **options)
        self.pruner = Pruner(examples, policy or PrunePolicy())
        self.results: list[PruneResult] = []
        self._evaluate, self._version = evaluate, version
        self._steps = 0

    def step(self) -> None:
        """One step of TextGrad, then prune and confirm if it is due. Measured values join the next gradients."""
        super().step()
        self._steps += 1
        if self._steps % self.pruner.policy.every == 0:
            self.prune()

    def zero_grad(self) -> None:
        """Clear the gradients, and start the next ones with what is measured of each text."""
        super().zero_grad()
        for parameter in self.parameters:
            add_values(parameter, self.pruner.known_values(parameter.value))

    def prune(self) -> None:
        """Replace each text by a shorter one where that is proved."""
        for parameter in self.parameters:
            result = self.pruner.shorten(parameter.value, self._evaluate, version=self._version)
            self.results.append(result)
            parameter.set_value(result.text)


def add_values(variable: Variable, feedback: str) -> None:
    """Add sentences about the values of a text's lines to its gradients; nothing where there are none."""
    if feedback:
        variable.gradients.add(Variable(feedback, requires_grad=False, role_description=ROLE))
