"""Where a run comes from, read from its folder: the command that repeats it, its date, its settings, its digests."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from skillsv.model.format import percent, plural, short_number
from skillsv.model.value import Valuation
from skillsv.pipeline.run import Run
from skillsv.report.next_steps import NEARLY_REACHED, with_budget
from skillsv.report.run_facts import RunFacts
from skillsv.report.sentences import cost_words
from skillsv.rollout import Ledger, RunFolder
from skillsv.settings import SETTINGS

DIGEST_CHARACTERS = 12
"""Characters of a digest that people see: enough to tell two apart."""


def read_facts(folder: RunFolder, run: Run) -> RunFacts:
    """The origin of a run, for its page."""
    manifest = run.manifest
    about, agent = manifest["about"], manifest["agent"]
    return RunFacts(
        folder=str(folder.path),
        run=folder.run_id,
        agent=agent["spec"],
        agent_digest=_short(agent["fingerprint"].partition(":")[2] or agent["fingerprint"]),
        tasks=os.path.basename(about["tasks"]) if about["tasks"] else "",  # noqa: PTH119 - the path may be of another system
        valued_tasks=len(manifest["panel_a"]),
        held_out_tasks=len(manifest["panel_b"]),
        date=_date(folder, agent["fingerprint"]),
        settings=_settings_text(run.valuation, run.settings.method),
        skill_digest=_short(manifest["digest"]),
        version=str(manifest.get("version", "")),
        value_command=value_command(manifest, str(folder.path)),
        costs=_costs(folder, run.valuation),
    )


def value_command(manifest: Mapping[str, Any], folder: str) -> str:
    """The `skillsv value` that began a run and continues it; empty where its skill or tasks were no files.

    Paths are relative to the folder in which the run was started.
    """
    about = manifest["about"]
    if not about["skill"] or not about["tasks"] or about.get("kit"):
        return ""
    skill, tasks = (_relative(about[name], about["folder"]) for name in ("skill", "tasks"))
    words = ["skillsv", "value", skill, "--tasks", tasks, "--agent", manifest["agent"]["spec"], "--run-dir", folder]
    return shlex.join([*words, *_flags({**manifest["settings"], **about["settings"]})])


def continue_command(manifest: Mapping[str, Any], folder: str, answers: int) -> str:
    """The command that continues a run with so many answers; a limit that it has reached is doubled."""
    command = value_command(manifest, folder)
    limit = manifest["about"]["settings"].get("max_rollouts")
    reached = isinstance(limit, int) and answers >= NEARLY_REACHED * limit
    return with_budget(command, 2 * limit) if command and reached else command


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    """The flags of all settings that differ from their defaults."""
    chain = settings.get("method", "chain") == "chain"
    for name, value in settings.items():
        info = SETTINGS.get(name)
        default = list(info.default) if info is not None and isinstance(info.default, tuple) else info and info.default
        if info is None or value == default or (info.selects_chain and not chain) or (info.only_auto and chain):
            continue
        if isinstance(value, bool):
            yield info.flag if value else info.off or info.flag
        elif isinstance(value, str | int | float):
            in_points = info.in_points and not isinstance(value, str)
            yield from (info.flag, short_number(100 * float(value)) if in_points else str(value))
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            yield from (info.flag, ",".join(value))


def _relative(path: str, folder: str) -> str:
    """The path as seen from the folder, where it lies in it or beside it."""
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:
        return path  # another drive
    return path if relative.startswith(os.path.join("..", "..")) else relative  # noqa: PTH118 - text, not a file


def _settings_text(valuation: Valuation, method: str) -> str:
    settings = valuation.settings
    level = settings.get("level")
    parts = [f"method {method}"]
    if method == "chain":
        parts.append(f"{plural(valuation.estimate.chains, 'order')}, window {settings.get('window')}")
    parts.append(f"seed {settings.get('seed')}")
    return ", ".join([*parts, f"intervals at {percent(level if isinstance(level, float) else 0.95)}"])


def _date(folder: RunFolder, agent: str) -> str:
    """The day of the first rollout of this agent in the ledger; empty where it is not known."""
    if not folder.ledger.exists():
        return ""
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        times = [group.since for group in ledger.groups() if group.agent == agent and group.since is not None]
    return f"{datetime.fromtimestamp(min(times), UTC):%d %b %Y}".lstrip("0") if times else ""


def _costs(folder: RunFolder, valuation: Valuation) -> tuple[tuple[str, str], ...]:
    """What the valuation and each later command spent: rollouts, tokens, money and the time of the agent."""
    rollouts, usage = valuation.rollouts.spent, valuation.usage
    if not folder.ledger.exists():
        return (("value", cost_words(rollouts, usage)),)
    with Ledger.open(folder.ledger, read_only=True) as ledger:
        seconds = ledger.summary(folder.run_id).seconds
        later = folder.later_spending(ledger, folder.run_id)
    commands = ((name, cost_words(spent.rollouts, spent.usage, spent.seconds)) for name, spent in later.items())
    return (("value", cost_words(rollouts, usage, seconds)), *commands)


def _short(digest: str) -> str:
    return digest[:DIGEST_CHARACTERS].strip(":")
