"""Where a valuation comes from: agent, tasks, date, settings and commands, enough to cite the run and to repeat it."""

from __future__ import annotations

from dataclasses import dataclass

from skillsv.model.format import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The origin of a page. `skillsv.pipeline.publish` reads it from the run folder; texts may be empty.

    `value_command` repeats or continues the run. `folder` is the run folder as commands name it. `costs` are what
    the commands of this run spent, in words, the valuation first.
    """

    folder: str = ""
    run: str = ""
    agent: str = ""
    agent_digest: str = ""
    tasks: str = ""
    valued_tasks: int = 0
    held_out_tasks: int = 0
    date: str = ""
    settings: str = ""
    skill_digest: str = ""
    version: str = ""
    value_command: str = ""
    costs: tuple[tuple[str, str], ...] = ()

    def items(self) -> list[tuple[str, str]]:
        """Names and texts of all that is known, in the order of the page."""
        tasks = f"{plural(self.valued_tasks, 'task')} valued, {self.held_out_tasks} held out" if self.tasks else ""
        items = [
            ("agent", " ".join(filter(None, (self.agent, f"({self.agent_digest})" if self.agent_digest else "")))),
            ("tasks", ", ".join(filter(None, (self.tasks, tasks)))),
            ("date", self.date),
            ("settings", self.settings),
            ("skill", self.skill_digest and f"digest {self.skill_digest}"),
            ("run", self.run),
            ("SkillSV", self.version),
            *((f"cost of {name}", text) for name, text in self.costs),
        ]
        return [(name, text) for name, text in items if text]

    @property
    def line(self) -> str:
        """The most important facts in one line; the last is what the valuation cost."""
        tasks = f"{self.valued_tasks} + {self.held_out_tasks} tasks" if self.valued_tasks else ""
        digest = self.skill_digest and f"skill {self.skill_digest}"
        version = self.version and f"SkillSV {self.version}"
        cost = self.costs[0][1] if self.costs else ""
        return " · ".join(filter(None, (self.agent, tasks, self.date, digest, version, cost)))
