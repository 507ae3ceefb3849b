"""The result of a shrink: the shorter skill, and what was proved of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from skillsv.api.run import Run
from skillsv.errors import GateNotMet
from skillsv.model.coalition import Operator
from skillsv.model.shrink_document import ShrinkDocument
from skillsv.pipeline.shrink import ShrinkResult
from skillsv.pipeline.shrink_agents import SharedShrinkResult


@dataclass(frozen=True, kw_only=True, eq=False)
class ShrunkSkill:
    r"""A shorter skill and what was proved of it. `shrink` makes one.

    >>> import skillsv as sv
    >>> short = sv.shrink("# Facts\n\n- one\n- two\n- nothing\n", evaluate=lambda text, word: float(word in text),
    ...     examples=["one", "two"] * 60, max_rollouts=400)
    >>> short.met, short.tokens_after < short.tokens_before
    (True, True)

    `outcome` is `no worse`, `not shown`, `worse` or `nothing to remove`. Only a skill that is shown to be no worse has
    other files than before; `removed` is empty else.
    """

    document: ShrinkDocument = field(repr=False)
    run: Run = field(repr=False)
    result: ShrinkResult | SharedShrinkResult = field(repr=False)

    @property
    def outcome(self) -> str:
        """What is shown of the shorter skill."""
        return self.document["outcome"]

    @property
    def met(self) -> bool:
        """Whether the shorter skill is shown to be no worse."""
        return self.result.version is not None

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids of the removed units."""
        return tuple(self.document["removed"])

    @property
    def tokens_before(self) -> int:
        """The tokens of the skill."""
        return self.document["tokens_before"]

    @property
    def tokens_after(self) -> int:
        """The tokens of the shorter skill."""
        return self.document["tokens_after"]

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the runs: one for each agent."""
        return (self.run.folder,)

    @property
    def files_before(self) -> Mapping[str, bytes]:
        """All files of the skill by relative path."""
        stored = self.run.stored
        return stored.renderer.render(stored.compiled.everything, Operator.DELETE).contents

    @property
    def files(self) -> Mapping[str, bytes]:
        """All files of the shorter skill by relative path; those of the skill where nothing was shown."""
        version = self.result.version
        return self.files_before if version is None else version.after.contents

    @property
    def text(self) -> str:
        """The main Markdown file of the shorter skill; empty where nothing of the skill is left."""
        return self.files.get(self.run.skill.compiled.skill.main, b"").decode("utf-8", errors="replace")

    @property
    def patch(self) -> str:
        """The difference to the skill, as `git apply` takes it."""
        from skillsv.report.edits import patch_lines

        return "".join(patch_lines(self.files_before, self.files))

    @property
    def markdown(self) -> str:
        """The result as Markdown for a pull request."""
        from skillsv.report.shrink_text import shrink_markdown

        return shrink_markdown(self.document)

    def lines(self) -> list[str]:
        """The result in sentences."""
        from skillsv.report.shrink_text import shrink_lines

        return shrink_lines(self.document)

    def require(self) -> None:
        """Raise GateNotMet unless a shorter skill is shown to be no worse."""
        if not self.met:
            raise GateNotMet(self.lines()[0], hint="More tasks, more rollouts or a larger max_drop may show it.")

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the shorter skill to a new folder. Raises GateNotMet where nothing was shown."""
        from skillsv.rendering.output import new_folder
        from skillsv.sandbox.workspace import write_tree

        self.require()
        assert self.result.version is not None
        with new_folder(Path(folder), skill=self.run.skill.path, force=force) as new:
            write_tree(self.result.version.after, new)
        return Path(folder)

    def to_dict(self) -> ShrinkDocument:
        """The JSON `skillsv.shrink/1`."""
        return self.document

    def __repr__(self) -> str:
        return f"<ShrunkSkill: {self.outcome}, {self.tokens_after:,} of {self.tokens_before:,} tokens left>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in self.lines())
