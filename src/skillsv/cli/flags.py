"""Flags that several commands share, each group written once. A flag that is not given leaves the setting alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from skillsv.compile import CompileOptions
from skillsv.errors import SettingsError
from skillsv.settings import Settings, compile_options, load_settings, share_of_points, small_amounts, small_settings

COMPILER = Group("Compiler")
ESTIMATOR = Group("Estimator")
AGENT = Group("Agent and tasks")
BUDGET = Group("Budget and speed")

UNPROTECTED = "skillsv: NO SANDBOX: programs that the model writes run with your rights, on your files and network."

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print the result as JSON.")]


@Parameter(name="*", group=COMPILER)
@dataclass(frozen=True, kw_only=True)
class CompileFlags:
    """How the skill is cut into units; the same for every command that reads a skill."""

    granularity: Annotated[
        Literal["block", "item", "section"] | None, Parameter(help="How finely the text is cut into units [block].")
    ] = None
    regions: Annotated[
        Literal["atomic", "split"] | None,
        Parameter(help="Optimizer regions: one unit each, or cut like other text [atomic]."),
    ] = None
    without: Annotated[str | None, Parameter(help="Rules to switch off, such as R3,R8,R9 (R6 always holds).")] = None
    include: Annotated[str | None, Parameter(help="Only these resource files are units (globs, comma list).")] = None
    exclude: Annotated[str | None, Parameter(help="These resource files are no units (globs, comma list).")] = None
    marker: Annotated[
        tuple[str, ...], Parameter(negative=(), help="A pair START=END of marker lines, instead of the built-in ones.")
    ] = ()

    def given(self) -> dict[str, Any]:
        """The settings that were given, by name."""
        table = {name: value for name, value in asdict(self).items() if value is not None and name != "marker"}
        return {**table, **({"markers": [_marker_pair(text) for text in self.marker]} if self.marker else {})}

    def options(self, skill: Path) -> CompileOptions:
        """The compiler's own options: its defaults, the file beside the skill, the flags."""
        return compile_options(load_settings(skill, self.given(), guarded=False))


@Parameter(name="*", group=ESTIMATOR)
@dataclass(frozen=True, kw_only=True)
class EstimatorFlags:
    """What is estimated, and how closely."""

    orders: Annotated[
        int | None, Parameter(name=["--orders", "-k"], help="Sampled insertion orders K [12]; selects chain.")
    ] = None
    window: Annotated[
        int | None, Parameter(name=["--window", "-b"], help="Tasks shared by one order, b [8]; selects chain.")
    ] = None
    tolerance: Annotated[
        str | None, Parameter(help="Truncation tolerance tau, a share as in the paper, or 'off' [0.05]; selects chain.")
    ] = None
    operators: Annotated[str | None, Parameter(help="'delete', or 'delete,pad' [delete,pad].")] = None
    method: Annotated[
        Literal["auto", "chain"] | None,
        Parameter(help="'auto' spends where it matters, 'chain' is the paper's Algorithm 1 [auto]."),
    ] = None
    panel_a: Annotated[str | None, Parameter(help="Tasks to estimate on: a number, or a share such as 0.5.")] = None
    panel_b: Annotated[str | None, Parameter(help="Tasks kept for confirmation: a number or share; 0 for none.")] = None
    seed: Annotated[int | None, Parameter(help="Seed of panels, orders and windows [42].")] = None
    level: Annotated[float | None, Parameter(help="Confidence level of the intervals [0.95].")] = None
    resolution: Annotated[float | None, Parameter(help="Smallest value worth a verdict, in points.")] = None
    tokenizer: Annotated[str | None, Parameter(help="Vocabulary that counts tokens: o200k or cl100k [o200k].")] = None
    filler: Annotated[str | None, Parameter(help="Neutral filler of the padding operator [blank].")] = None


@Parameter(name="*", group=AGENT)
@dataclass(frozen=True, kw_only=True)
class AgentFlags:
    """How the agent is run and its answers are judged."""

    verifier: Annotated[str | None, Parameter(help="Verifier of tasks that name none.")] = None
    judge: Annotated[str | None, Parameter(help="Agent that grades what only prose describes.")] = None
    skill_dir: Annotated[
        str | None, Parameter(help="Where a coding agent looks for skills, such as .claude/skills.")
    ] = None
    forward_env: Annotated[str | None, Parameter(help="Environment variables the agent may see (comma list).")] = None
    show_target: Annotated[
        bool | None,
        Parameter(negative="--hide-target", help="Send the agent the expected answer, too [--hide-target]."),
    ] = None
    timeout: Annotated[float | None, Parameter(help="Seconds one rollout may take [600].")] = None
    base_url: Annotated[
        str | None, Parameter(help="OpenAI-compatible server of model:openai:NAME, such as http://127.0.0.1:8321/v1.")
    ] = None
    deliver: Annotated[
        Literal["prompt", "files"] | None,
        Parameter(help="The skill in the model's prompt, or on disk to be opened [prompt]."),
    ] = None
    tools: Annotated[
        Literal["all", "files", "none"] | None,
        Parameter(help="What the model can use: files and programs, files, nothing [all]."),
    ] = None
    temperature: Annotated[
        str | None, Parameter(help="Temperature of the model, or 'off' to leave it to the provider [0].")
    ] = None
    max_output_tokens: Annotated[int | None, Parameter(help="Tokens of one answer of the model [2048].")] = None
    cut_answers: Annotated[
        Literal["fail", "score"] | None,
        Parameter(help="An answer that this limit cuts: missing, or scored as it is [fail]."),
    ] = None
    turns: Annotated[int | None, Parameter(help="Times the model may speak in one rollout [16].")] = None
    stop: Annotated[
        tuple[str, ...] | None, Parameter(negative=(), help="A text that ends the model's answer (may be repeated).")
    ] = None
    no_sandbox: Annotated[
        bool | None, Parameter(negative=(), help="Run the model's programs unprotected, with your rights.")
    ] = None
    prices: Annotated[str | None, Parameter(help="TOML table of prices that goes before the built-in one.")] = None
    inspect_logs: Annotated[str | None, Parameter(help="Folder that keeps the logs of inspect:FILE.py@task.")] = None

    def __post_init__(self) -> None:
        if self.no_sandbox:
            print(UNPROTECTED, file=sys.stderr)


@Parameter(name="*", group=BUDGET)
@dataclass(frozen=True, kw_only=True)
class BudgetFlags:
    """What may be spent, and how fast."""

    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], help="Rollouts at once [8].")] = None
    engine: Annotated[
        str | None, Parameter(help="Where rollouts run: local, ray, or ray:HOST:PORT for a cluster that runs [local].")
    ] = None
    slots_per_node: Annotated[
        int | None, Parameter(help="Rollouts at once on one node of a cluster [its CPUs; alone: --jobs].")
    ] = None
    node_resources: Annotated[
        str | None, Parameter(help="What a rollout takes of a node's resources, such as GPU=1 (comma list).")
    ] = None
    max_per_minute: Annotated[float | None, Parameter(help="Rollouts started in a minute, on all nodes together.")] = (
        None
    )
    max_rollouts: Annotated[int | None, Parameter(help="Stop after this many new rollouts.")] = None
    max_tokens: Annotated[int | None, Parameter(help="Stop after this many tokens.")] = None
    max_seconds: Annotated[float | None, Parameter(help="Stop after this many seconds.")] = None
    budget_usd: Annotated[float | None, Parameter(help="Stop after spending this much, if it is known.")] = None
    until_width: Annotated[
        float | None, Parameter(help="Stop when no interval is wider than this, in points (auto).")
    ] = None
    until_resolved: Annotated[
        float | None, Parameter(help="Stop when this share of the units has a verdict (auto).")
    ] = None
    attempts: Annotated[int | None, Parameter(help="Attempts before a rollout counts as missing [5].")] = None
    max_missing: Annotated[float | None, Parameter(help="Share of missing rollouts that stops the run [0.2].")] = None
    speculate: Annotated[int | None, Parameter(help="Prefixes to run ahead of the truncation test [0].")] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Where the run is kept, and whether it may begin."""

    run_dir: Annotated[Path | None, Parameter(help="Folder of the run [.skillsv/NAME].")] = None
    yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative=(), help="Spend without asking.")] = False
    fresh: Annotated[bool, Parameter(negative=(), help="Forget earlier rollouts of this run folder.")] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), help="No progress on stderr.")] = False
    keep_going: Annotated[
        bool, Parameter(negative=(), help="Go on where the first tasks show no difference by the skill.")
    ] = False


def given(*groups: EstimatorFlags | AgentFlags | BudgetFlags | CompileFlags | None) -> dict[str, Any]:
    """All settings that were given on the command line, by name."""
    table: dict[str, Any] = {}
    for group in groups:
        if isinstance(group, CompileFlags):
            table |= group.given()
        elif group is not None:
            table |= {name: value for name, value in asdict(group).items() if value is not None}
    return table


def read_settings(skill: Path, flags: Mapping[str, Any]) -> Settings:
    """The settings of a command that values a skill. Lines on stderr say when they select the method or look wrong."""
    settings = load_settings(skill, flags, note=lambda sentence: print(sentence, file=sys.stderr))
    for note in small_settings(settings):
        print(f"Note: {note}", file=sys.stderr)
    return settings


def given_share(points: float | None, flag: str, *, ends: bool = False) -> float | None:
    """The amount of score that a flag gave in points, as a share; a note on stderr where it is very small."""
    share = None if points is None else share_of_points(points, flag, ends=ends)
    for note in small_amounts({flag: share}):
        print(f"Note: {note}", file=sys.stderr)
    return share


def _marker_pair(text: str) -> tuple[str, str]:
    start, separator, end = text.partition("=")
    if not (separator and start.strip() and end.strip()):
        raise SettingsError(f"the marker '{text}' is not a pair START=END.", hint="Write both lines, joined by '='.")
    return start.strip(), end.strip()
