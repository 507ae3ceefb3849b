"""All settings of a valuation. To add a setting, add one field to `Settings`.

Flags of the command line, keys of `skillsv.toml`, the manifest of a run and the Python API are made from these fields.
A field gives, in this order: name, type with its range, default, which files may hold it, its help sentence; then what
only some settings need (see `SettingInfo`).
"""
# ruff: noqa: FBT003, RUF009 - the calls in the class body declare dataclass fields, and their first argument is the default

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import Meta

from skillsv.errors import SettingsError
from skillsv.model.coalition import Operator
from skillsv.settings.info import agent, budget, compiler, declared, estimator, matrix
from skillsv.settings.values import (
    check_engine,
    check_forwarded,
    check_operators,
    check_sandbox,
    flag_of,
    read_agent_list,
    read_comma_list,
    read_marker_pair,
    read_number_or_off,
    read_resources,
    read_size_or_share,
)

if TYPE_CHECKING:
    from skillsv.compiler import CompileOptions

Count = Annotated[int, Meta(ge=1)]
NonNegative = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that shapes a valuation. `K`, `b` and `tau` of the paper are `orders`, `window`, `tolerance`.

    Amounts of score are shares in [0, 1], here and in manifests. People write those with `in_points` in points of a
    hundred; `in_shares` converts them. `tolerance` is a share everywhere: it is the paper's tau.
    """

    # What is estimated, and how closely.
    orders: Count = estimator(
        12, "free", "Sampled insertion orders K [{default}]; selects chain.", short="-k", selects_chain=True
    )
    window: Count = estimator(
        8, "free", "Tasks shared by one order, b [{default}]; selects chain.", short="-b", selects_chain=True
    )
    tolerance: Share | None = estimator(
        0.05,
        "free",
        "Truncation tolerance tau, a share as in the paper, or 'off' [{default}]; selects chain.",
        read=read_number_or_off,
        selects_chain=True,
    )
    operators: tuple[Operator, ...] = estimator(
        (Operator.DELETE, Operator.PAD),
        "free",
        "'delete', or 'delete,pad' [{default}]; delete alone with --max-rollouts below 2400.",
        read=read_comma_list,
        check=check_operators,
    )
    method: Literal["auto", "chain"] = estimator(
        "auto", "free", "'auto' spends where it matters, 'chain' is the paper's Algorithm 1 [{default}]."
    )
    panel_a: int | float | None = estimator(
        None, "free", "Tasks to estimate on: a number, or a share such as 0.5.", read=read_size_or_share
    )
    panel_b: int | float | None = estimator(
        None, "free", "Tasks kept for confirmation: a number or share; 0 for none.", read=read_size_or_share
    )
    seed: NonNegative = estimator(42, "free", "Seed of panels, orders and windows [{default}].")
    level: Annotated[float, Meta(gt=0, lt=1)] = estimator(
        0.95, "free", "Confidence level of the intervals [{default}]."
    )
    resolution: Positive | None = estimator(None, "free", "Smallest value worth a verdict, in points.", in_points=True)
    tokenizer: str = estimator("o200k", "free", "Vocabulary that counts tokens: o200k or cl100k [{default}].")
    filler: str = estimator("blank", "free", "Neutral filler of the padding operator [{default}].")

    # How the skill is cut into units.
    granularity: Literal["block", "group", "section", "item"] = compiler(
        "block", "free", "Size of a unit: 'block', 'group' (an item with what follows it) or 'section' [{default}]."
    )
    regions: Literal["atomic", "split"] = compiler(
        "atomic", "free", "Optimizer regions: one unit each, or cut like other text [{default}]."
    )
    underlined: Literal["text", "heading"] = compiler(
        "text",
        "free",
        "Lines of text right above '---': text and a rule, or a heading [{default}].",
        earlier_behaviour="heading",
    )
    inside: Literal["auto", "references", "main"] = compiler(
        "auto",
        "free",
        "Cut linked Markdown files into units: 'references', 'main' (never), 'auto' (the larger ones) [{default}].",
        earlier_behaviour="main",
        decides_result=False,  # what it changes is in the skill's digest
    )
    rules_version: Literal["2", "1"] = compiler(
        "2",
        "free",
        "Version of the dependency rules; '1' as in runs of skillsv 0.1 [{default}].",
        earlier_behaviour="1",
        decides_result=False,  # what it changes is in the skill's digest
    )
    without: tuple[str, ...] = compiler(
        (), "free", "Rules to switch off, such as R3,R8,R9 (R6 always holds).", read=read_comma_list
    )
    include: tuple[str, ...] = compiler(
        (), "free", "Only these resource files are units (globs, comma list).", read=read_comma_list
    )
    exclude: tuple[str, ...] = compiler(
        (), "free", "These resource files are no units (globs, comma list).", read=read_comma_list
    )
    markers: tuple[tuple[str, str], ...] = compiler(
        (),
        "free",
        "A pair START=END of marker lines, instead of the built-in ones.",
        other_flag="--marker",
        read_item=read_marker_pair,
    )

    # How the agent is run, and how its answers are graded.
    verifier: str | None = agent(None, "guarded", "Verifier of tasks that name none.")
    judge: str | None = agent(None, "guarded", "Agent that grades what only prose describes.")
    skill_dir: str | None = agent(None, "guarded", "Where a coding agent looks for skills, such as .claude/skills.")
    stdin: Literal["json", "text"] = agent(
        "json",
        "guarded",
        "What a command: agent reads on stdin: the task as JSON, or its input as text [{default}].",
        earlier_behaviour="json",
    )
    forward_env: tuple[str, ...] = agent(
        (),
        "guarded",
        "Environment variables the agent may see (comma list).",
        read=read_comma_list,
        check=check_forwarded,
    )
    agent_version: str | None = agent(
        None,
        "guarded",
        "A version of your own that stands for the agent's files: the same text is the same agent.",
        decides_result=False,
    )
    depends_on: tuple[str, ...] = agent(
        (),
        "guarded",
        "A file, folder or glob that the agent or verifier reads (may be repeated).",
        decides_result=False,
    )
    reuse_unchecked: bool = agent(
        False,
        "flags only",
        "Take over stored rollouts whose forwarded values, helper files or judge were not checked.",
        decides_result=False,
    )
    recheck: Count | None = agent(
        None,
        "flags only",
        "Repeat this many stored rollouts first; refuse them if they differ more than noise allows.",
        decides_result=False,
    )
    show_target: bool = agent(
        False,
        "flags only",
        "Send the agent the expected answer, too [{default}].",
        off="--hide-target",
        earlier_names={"hide_target": operator.not_},
    )
    timeout: Positive = agent(
        600.0,
        "guarded",
        "Seconds the agent may take for a task, and the verifier for an answer [{default}].",
        decides_result=False,
    )
    base_url: str | None = agent(
        None, "flags only", "OpenAI-compatible server of model:openai:NAME, such as http://127.0.0.1:8321/v1."
    )
    deliver: Literal["prompt", "files"] = agent(
        "prompt", "guarded", "The skill in the model's prompt, or on disk to be opened [{default}]."
    )
    tools: Literal["all", "files", "none"] = agent(
        "all", "guarded", "What the model can use: files and programs, files, nothing [{default}]."
    )
    temperature: Annotated[float, Meta(ge=0)] | None = agent(
        0.0,
        "free",
        "Temperature of the model, or 'off' to leave it to the provider [{default}].",
        read=read_number_or_off,
    )
    max_output_tokens: Count = agent(2048, "guarded", "Tokens of one answer of the model [{default}].")
    cut_answers: Literal["fail", "score"] = agent(
        "fail",
        "guarded",
        "An answer that this limit cuts: missing, or scored as it is [{default}].",
        earlier_behaviour="score",
    )
    turns: Count = agent(16, "guarded", "Times the model may speak in one rollout [{default}].")
    stop: tuple[str, ...] = agent((), "free", "A text that ends the model's answer (may be repeated).")
    no_sandbox: bool = agent(
        False, "flags only", "Run the programs of the model and of Harbor tasks unprotected, with your rights."
    )
    sandbox: str = agent(
        "bubblewrap",
        "flags only",
        "Where these programs run: bubblewrap, docker, podman (docker:IMAGE names an image), none [{default}].",
        check=check_sandbox,
        earlier_behaviour="bubblewrap",
    )
    sandbox_agent: bool = agent(
        False,
        "flags only",
        "Run command: agents and verifiers in the sandbox, too; they have the network.",
        earlier_behaviour=False,
    )
    verifier_network: bool = agent(
        False,
        "flags only",
        "Give the tests of Harbor tasks the network if their task asks for it.",
        decides_result=False,
    )
    prices: str | None = agent(
        None, "guarded", "TOML table of prices that goes before the built-in one.", decides_result=False
    )
    inspect_logs: str | None = agent(
        None, "flags only", "Folder that keeps the logs of inspect:FILE.py@task.", decides_result=False
    )

    # Which agents are compared.
    agents: tuple[str, ...] = matrix(
        (),
        "guarded",
        "The agents to compare (comma list), such as model:openai:A,model:openai:B.",
        read=read_agent_list,
    )
    at_once: bool = matrix(
        False,
        "free",
        "Run all agents of a matrix at the same time; then none begins with what another showed.",
    )

    # What may be spent, and how fast.
    jobs: Count = budget(8, "free", "Rollouts at once [{default}].", short="-j")
    engine: str = budget(
        "local",
        "flags only",
        "Where rollouts run: local, ray, or ray:HOST:PORT for a cluster that runs [{default}].",
        check=check_engine,
    )
    slots_per_node: Count | None = budget(
        None, "guarded", "Rollouts at once on one node of a cluster [its CPUs; alone: --jobs]."
    )
    node_resources: dict[str, Positive] = budget(
        {}, "guarded", "What a rollout takes of a node's resources, such as GPU=1 (comma list).", read=read_resources
    )
    max_per_minute: Positive | None = budget(None, "guarded", "Rollouts started in a minute, on all nodes together.")
    max_rollouts: Count | None = budget(
        None, "guarded", "Stop after this many rollouts; for auto those of earlier runs that are reused count."
    )
    max_tokens: Count | None = budget(None, "guarded", "Stop after this many tokens.")
    max_seconds: Positive | None = budget(None, "guarded", "Stop after this many seconds.")
    budget_usd: Positive | None = budget(None, "guarded", "Stop after spending this much, if it is known.")
    until_width: Positive | None = budget(
        None, "free", "Stop when no interval is wider than this, in points (auto).", in_points=True, only_auto=True
    )
    until_resolved: Share | None = budget(
        None, "free", "Stop when this share of the units has a verdict (auto).", only_auto=True
    )
    attempts: Count = budget(5, "guarded", "Attempts before a rollout counts as missing [{default}].")
    max_missing: Share = budget(0.2, "guarded", "Share of missing rollouts that stops the run [{default}].")
    speculate: NonNegative = budget(0, "guarded", "Prefixes to run ahead of the truncation test [{default}].")

    @property
    def sandboxed(self) -> bool:
        """Whether programs of models and of tasks run in a sandbox."""
        return not self.no_sandbox and self.sandbox != "none"

    @property
    def container(self) -> str:
        """The container program that is the sandbox, with its image; empty for bubblewrap."""
        return "" if self.sandbox in {"bubblewrap", "none"} else self.sandbox

    @property
    def has_limit(self) -> bool:
        """Whether spending ends by itself: a limit counts as agreement to the cost."""
        return self.max_rollouts is not None or self.budget_usd is not None


SETTINGS = declared(Settings)
"""What each setting declares, by name."""

SETTING_NAMES = tuple(SETTINGS)

DEFAULTS = Settings()

RESULT_SETTINGS = tuple(name for name, info in SETTINGS.items() if info.decides_result)
"""The settings that decide what is estimated. The others decide only how fast, and how far, a run gets."""

EARLIER_BEHAVIOUR = {
    name: info.earlier_behaviour for name, info in SETTINGS.items() if info.earlier_behaviour is not None
}
"""What earlier versions did, for the settings that their manifests do not have."""

FREE = tuple(name for name, info in SETTINGS.items() if info.trust == "free")
"""Read from any file."""

GUARDED = tuple(name for name, info in SETTINGS.items() if info.trust == "guarded")
"""Read only from the user's own file and from files that the user has trusted."""

FLAGS_ONLY = tuple(name for name, info in SETTINGS.items() if info.trust == "flags only")
"""Never read from a file."""


def convert_settings(table: Mapping[str, Any], *, where: str | None = None) -> Settings:
    """Check and convert settings that people or manifests wrote; amounts of score are shares already.

    `where` is the file they stand in. Raises SettingsError where a name is unknown or a value cannot be used.
    """
    unknown = sorted(set(table) - set(SETTING_NAMES))
    if unknown:
        known = ", ".join(info.key for info in SETTINGS.values())
        raise SettingsError(f"there is no setting '{unknown[0]}'.", where=where, hint=f"The settings are: {known}.")
    try:
        settings = msgspec.convert({name: _read_value(name, value) for name, value in table.items()}, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(_explain_invalid(str(error)), where=where) from error
    for name, info in SETTINGS.items():
        if info.check is not None:
            info.check(getattr(settings, name), where)
    if settings.no_sandbox and settings.container:
        raise SettingsError(f"--no-sandbox contradicts --sandbox {settings.sandbox}.", where=where, hint="Give one.")
    if settings.sandbox_agent and not settings.sandboxed:
        raise SettingsError("--sandbox-agent needs a sandbox.", where=where, hint="Give it with another --sandbox.")
    return settings


def settings_from(table: Mapping[str, Any]) -> Settings:
    """Settings as a manifest recorded them, also under the names of earlier versions."""
    return convert_settings(with_current_names(table))


def with_current_names(table: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings, where names of earlier versions are replaced by the names of today."""
    current = dict(table)
    for name, info in SETTINGS.items():
        for earlier_name, convert in info.earlier_names.items():
            if earlier_name in current:
                current.setdefault(name, convert(current.pop(earlier_name)))
    return current


def settings_dict(settings: Settings) -> dict[str, Any]:
    """Settings as plain JSON values."""
    table: dict[str, Any] = msgspec.to_builtins(settings)
    return table


def run_settings(settings: Settings) -> dict[str, Any]:
    """The settings of one run as plain JSON values: without those about several agents."""
    return {name: value for name, value in settings_dict(settings).items() if SETTINGS[name].group != "matrix"}


def identity_settings(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, as plain values, that distinguish this run from others."""
    left_out = {name for name in EARLIER_BEHAVIOUR if table[name] == SETTINGS[name].default}
    return {name: table[name] for name in RESULT_SETTINGS if name not in left_out}


def compile_options(settings: Settings) -> CompileOptions:
    """The compiler's part of the settings."""
    from skillsv.compiler import CompileOptions  # only here: `--help` needs the settings and no compiler

    return CompileOptions(
        granularity=settings.granularity,
        regions=settings.regions,
        underlined=settings.underlined,
        inside=settings.inside,
        rules_version=settings.rules_version,
        without=frozenset(rule.upper() for rule in settings.without),
        include=settings.include,
        exclude=settings.exclude,
        markers=settings.markers or CompileOptions().markers,
    )


def _read_value(name: str, value: Any) -> Any:
    read = SETTINGS[name].read
    return read(value, name) if read is not None and isinstance(value, str) else value


def _explain_invalid(message: str) -> str:
    """The message of the converter, such as "Expected `int` >= 1 - at `$.orders`", with the flag that people know."""
    problem, _, place = message.replace("`", "").partition(" - at $.")
    name = place.split("[")[0]
    choices = _choices(get_type_hints(Settings)[name])
    advice = f" Choose among: {', '.join(choices)}." if choices else ""
    return f"{flag_of(name)} cannot be used: {problem[:1].lower()}{problem[1:]}.{advice}"


def _choices(hint: Any) -> list[str]:
    """The words that a type allows, if it lists them."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [str(member.value) for member in hint]
    return [word for item in get_args(hint) for word in ([item] if isinstance(item, str) else _choices(item))]
