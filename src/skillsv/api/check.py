"""The check of a change: lint, lengths, and the proof that changed skills are no worse than at a base commit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import anyio

from skillsv.api.changed_skills import BaseCommit, SkillChange, changed_skills, differs_from_base
from skillsv.api.check_result import check_document, describe_change, fill_in, note_length
from skillsv.api.shorten import level_as_share
from skillsv.api.shrink_plan import DEFAULT_ROLLOUTS
from skillsv.api.skill import compiler_settings
from skillsv.confirmation.gate import DEFAULT_MAX_DROP, Gate
from skillsv.errors import GateNotMet, Interrupted, SettingsError, SkillSVError
from skillsv.model.check_document import CheckDocument, CheckedSkillDocument, CheckOutcome
from skillsv.model.format import count, duration, money, plural, short_points
from skillsv.model.protocols import Listener
from skillsv.model.rollout import Usage
from skillsv.pipeline.check import PreparedProof, ProofSpending, prepare_proof, run_proof
from skillsv.pipeline.job import ValuationJob
from skillsv.rollout import RunFolder, Stop
from skillsv.sandbox.redaction import redact
from skillsv.sandbox.workspace import folder_name
from skillsv.settings import Settings, load_check_settings, load_settings, share_of_points
from skillsv.settings.check_table import SKILL

CACHE = Path(".skillsv/check")
"""Where the rollouts of checks are kept, unless the user names another folder."""

FAILING: dict[str, tuple[CheckOutcome, ...]] = {"worse": ("worse",), "not-shown": ("worse", "not shown"), "never": ()}
"""The outcomes that give exit code 3, by the value of --fail-on."""

FailOn = Literal["not-shown", "worse", "never"]
"""The least severe outcome that fails a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments:
    """What a check compares and requires, as callers write it. None: what `[check]` of a trusted file says."""

    base: str = "origin/main"
    paths: tuple[Path, ...] = ()
    tasks: str | None = None
    agent: str | None = None
    max_drop: float | None = None
    level: float = 95
    cache_dir: Path = CACHE
    same_tasks: bool = False
    include_new: bool = False
    keep_going: bool = False
    fail_on: FailOn = "not-shown"
    ignore: tuple[str, ...] = ()
    token_limit: int | None = None


@dataclass(slots=True, kw_only=True)
class CheckPlan:
    """A check that is prepared: the changes, and the proof of each skill that has tasks and an agent."""

    arguments: CheckArguments
    base: BaseCommit
    changes: list[SkillChange]
    proofs: dict[str, PreparedProof] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skill_notes: dict[str, list[str]] = field(default_factory=dict)
    gate: Gate
    has_limit: bool = False

    @property
    def rollouts(self) -> int:
        """The rollouts of all proofs at most."""
        return sum(proof.rollouts for proof in self.proofs.values())

    def lines(self) -> list[str]:
        """What the check may spend, and what that can show."""
        if not self.proofs:
            return []
        skills = plural(len(self.proofs), "skill")
        lines = [f"Forecast: at most {plural(self.rollouts, 'rollout')} for {skills}; {self._cost_words()}."]
        for path, proof in self.proofs.items():
            units = proof.pairs if proof.same_tasks else {task for task, _ in proof.pairs}
            noun, needed = "pair" if proof.same_tasks else "task", proof.proof.tasks_needed()
            if len(units) < needed:
                limit = short_points(proof.gate.max_drop)
                lines.append(
                    f"{path}: {plural(len(units), noun)} show that less than {limit} points are lost only where scores "
                    f"rise; without any change it takes {needed} {noun}s."
                )
        return lines

    def _cost_words(self) -> str:
        """Tokens, money and time at most, as far as they are known."""
        costs = [proof.cost for proof in self.proofs.values()]
        tokens, usd, seconds = (
            None if None in amounts else sum(amount or 0 for amount in amounts)
            for amounts in zip(*((cost.tokens, cost.usd, cost.seconds) for cost in costs), strict=True)
        )
        return (
            f"tokens {'unknown' if tokens is None else count(round(tokens))}, "
            f"cost {'unknown' if usd is None else money(usd)}, "
            f"time {'unknown' if seconds is None else duration(seconds)}"
        )


@contextmanager
def plan_check(arguments: CheckArguments, settings: dict[str, object]) -> Iterator[CheckPlan]:
    """Find the changed skills and plan their proofs. Runs nothing; base versions are kept while the block runs."""
    base = BaseCommit.find(Path.cwd(), arguments.base)
    gate = Gate(level=level_as_share(arguments.level))
    with changed_skills(base, arguments.paths, **compiler_settings(settings)) as changes:
        plan = CheckPlan(arguments=arguments, base=base, changes=changes, gate=gate)
        if not base.branched:
            plan.notes.append(
                f"The history is too short to see where HEAD branched off {arguments.base}; its tip is the base."
            )
        _plan_proofs(plan, settings)
        yield plan


def _plan_proofs(plan: CheckPlan, given: dict[str, object]) -> None:
    """Plan the proof of each changed skill, with equal parts of the rollouts."""
    found = [(change, _job_of(plan, change, given)) for change in plan.changes]
    jobs = [(change, *wanted) for change, wanted in found if wanted is not None]
    for change, job, max_drop in jobs:
        share = (job.settings.max_rollouts or DEFAULT_ROLLOUTS) // len(jobs)
        if share < 2:
            raise SettingsError(
                f"the limit of rollouts is too small for {plural(len(jobs), 'skill')}.", hint="Give each at least 2."
            )
        plan.gate = replace(plan.gate, max_drop=max_drop)
        plan.has_limit = job.settings.has_limit
        plan.proofs[change.path] = prepare_proof(
            job,
            None if change.base is None else change.base.compiled,
            RunFolder(_cache_of(plan.arguments.cache_dir, change)),
            plan.gate,
            rollouts=share,
            same_tasks=plan.arguments.same_tasks,
            keep_going=plan.arguments.keep_going,
        )


def _job_of(plan: CheckPlan, change: SkillChange, given: dict[str, object]) -> tuple[ValuationJob, float] | None:
    """The job of a skill and the loss it may have; None where nothing is to be proved, or nothing can."""
    arguments = plan.arguments
    flag_drop = None if arguments.max_drop is None else share_of_points(arguments.max_drop, "--max-drop")
    if change.new is None or (change.base is None and not arguments.include_new):
        return None
    needed = arguments.tasks is None or arguments.agent is None
    table = load_check_settings(change.folder, needed=needed)
    tasks, agent = arguments.tasks or table.tasks, arguments.agent or table.agent
    if tasks is None or agent is None:
        if tasks is not None or agent is not None:
            missing = "--agent" if agent is None else "--tasks"
            raise SettingsError(f"a proof needs tasks and an agent; {missing} is missing.")
        plan.skill_notes.setdefault(change.path, []).append("No tasks and no agent are named: linted and counted only.")
        return None
    settings = load_settings(change.folder, given)
    file_drop = None if table.max_drop is None else share_of_points(table.max_drop, "max-drop")
    path = Path(tasks.replace(SKILL, str(change.folder)))
    if differs_from_base(plan.base, path):
        plan.skill_notes.setdefault(change.path, []).append(
            "The tasks changed, too: both versions run on the new ones."
        )
    job = ValuationJob(
        skill=change.folder,
        tasks=path,
        agent=agent,
        settings=settings,
        folder=Path.cwd(),
        compiled=change.new.compiled,
    )
    return job, flag_drop or file_drop or DEFAULT_MAX_DROP


def _cache_of(folder: Path, change: SkillChange) -> Path:
    """The folder with the rollouts of one skill: readable, and different for skills of the same name."""
    digest = hashlib.sha256(change.path.encode("utf-8", errors="surrogateescape")).hexdigest()[:8]
    return folder / f"{folder_name(change.folder.resolve().name)}-{digest}"


async def run_check_plan(plan: CheckPlan, listener: Listener, stop: Stop | None) -> CheckDocument:
    """Run the proofs one after the other, and return the result. An error ends one proof and not the others."""
    skills: list[CheckedSkillDocument] = []
    spending: list[ProofSpending] = []
    error_codes: list[int] = []
    used, started = Usage(), anyio.current_time()
    for change in plan.changes:
        document = describe_change(change, plan.skill_notes.get(change.path, ()), plan.arguments.ignore)
        note_length(document, plan.arguments.token_limit)
        proof = plan.proofs.get(change.path)
        if proof is not None:
            spent = ProofSpending()
            try:
                fill_in(document, await run_proof(_with_limits_left(proof, used, started), spent, listener, stop))
            except Interrupted:
                raise
            except SkillSVError as error:
                document["outcome"], document["error"] = "not shown", redact(str(error))
                error_codes.append(error.exit_code)
            used += spent.usage or Usage()
            spending.append(spent)
        skills.append(document)
    return check_document(
        skills,
        spending,
        base=plan.base.name,
        commit=plan.base.commit,
        gate=plan.gate,
        same_tasks=plan.arguments.same_tasks,
        budget=plan.rollouts,
        exit_code=_exit_code(skills, error_codes, plan.arguments),
        notes=plan.notes,
    )


def _exit_code(skills: Sequence[CheckedSkillDocument], errors: Sequence[int], arguments: CheckArguments) -> int:
    """3 for a skill that is worse; else the code of an error; else 3 for a skill that fails; 1 for errors of lint."""
    failing = FAILING[arguments.fail_on]
    outcomes = {skill["outcome"] for skill in skills if skill["error"] is None}
    if "worse" in outcomes and "worse" in failing:
        return GateNotMet.exit_code
    if errors:
        return max(errors)
    if outcomes & set(failing) or any(skill["too_long"] for skill in skills):
        return GateNotMet.exit_code
    found = (finding for skill in skills for finding in skill["findings"])
    return int(any(finding["new"] and finding["severity"] == "error" for finding in found))


def _with_limits_left(proof: PreparedProof, used: Usage, started: float) -> PreparedProof:
    """The proof with what is left of the limits of money, tokens and time after the proofs before it."""
    settings = proof.job.settings
    tokens, seconds = (used.input_tokens or 0) + (used.output_tokens or 0), anyio.current_time() - started
    left: Settings = replace(
        settings,
        budget_usd=None if settings.budget_usd is None else max(settings.budget_usd - (used.usd or 0.0), 1e-9),
        max_tokens=None if settings.max_tokens is None else max(settings.max_tokens - tokens, 1),
        max_seconds=None if settings.max_seconds is None else max(settings.max_seconds - seconds, 1e-3),
    )
    return replace(proof, job=replace(proof.job, settings=left))
