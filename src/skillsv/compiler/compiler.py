"""The compiler: four deterministic passes from a skill to G = (N, D, H), with no model in the loop.

1. unitization (`units.py`): files become units and scaffold.
2. extraction (`rules/`): rules find which unit needs which.
3. normalization (`cycles.py`): dependency cycles become composite units.
4. reconciliation (`hierarchy.py`): the section tree is repaired where it contradicts the dependencies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from skillsv.compiler.cycles import drop_circular_prose, normalize
from skillsv.compiler.documents import documents_inside, find_pointers
from skillsv.compiler.draft import TRIGGER, Draft
from skillsv.compiler.hierarchy import document_tree, reconcile
from skillsv.compiler.options import CompileOptions
from skillsv.compiler.read import read_skill
from skillsv.compiler.rules import RULES, TRIGGER_RULE
from skillsv.compiler.units import unitize
from skillsv.errors import SettingsError
from skillsv.model.skill import CompiledSkill, Edge, Finding, Skill

DEFAULT = CompileOptions()


def compile_skill(path: Path, options: CompileOptions = DEFAULT) -> CompiledSkill:
    """Read a skill folder or one Markdown file, and compile it."""
    skill, findings = read_skill(path, options)
    return compile_files(skill, options, findings)


def compile_files(skill: Skill, options: CompileOptions = DEFAULT, findings: tuple[Finding, ...] = ()) -> CompiledSkill:
    """Compile a skill that is in memory; `findings` are those from reading it."""
    draft = _cut(skill, options, findings)
    extracted = _extract(draft, options)
    normalized = normalize(draft, extracted.edges)
    tree = document_tree(draft.sections, [unit.id for unit in normalized.units], normalized.section_of)
    hierarchy, repairs = reconcile(tree, normalized.edges)
    chosen = options.as_mapping(
        glued_rules=draft.glued_rules, other_rules=extracted.other_rules, inside=bool(draft.pointers)
    )
    return CompiledSkill(
        skill=skill,
        options=chosen,
        trigger=TRIGGER,
        units=normalized.units,
        edges=normalized.edges,
        hierarchy=hierarchy,
        sections=draft.sections,
        layouts=normalized.layouts,
        contractions=normalized.contractions,
        repairs=repairs,
        pointers=normalized.pointers,
        findings=(*draft.findings, *extracted.findings),
        digest=_digest(skill, chosen),
    )


def _cut(skill: Skill, options: CompileOptions, findings: tuple[Finding, ...]) -> Draft:
    """The units of the main file and, where the options say so, those inside the files it leads to."""
    draft = unitize(skill, options, findings)
    inside = documents_inside(draft, options)
    if not inside:
        return draft
    draft = unitize(skill, options, findings, inside)
    return replace(draft, pointers=find_pointers(draft))


class _Extracted(NamedTuple):
    """The edges and findings of the rules. `other_rules`: the other version of the rules gives other edges."""

    edges: tuple[Edge, ...]
    findings: tuple[Finding, ...]
    other_rules: bool


def _extract(draft: Draft, options: CompileOptions) -> _Extracted:
    """All edges of the enabled rules, one per rule and pair of units, and the rules' findings."""
    _require_known_rules(options)
    edges: dict[tuple[str, str, str], Edge] = {}
    findings: list[Finding] = []
    other_rules = False
    for rule in RULES:
        if rule.id in options.without:
            continue
        results = list(rule.apply(draft))
        early_results = None if rule.early is None else rule.early(draft)
        if early_results is not None:
            early = list(early_results)
            other_rules = other_rules or _pairs(early) != _pairs(results)
            results = early if options.rules_version == "1" else results
        for result in results:
            if isinstance(result, Finding):
                findings.append(result)
            else:
                edges.setdefault((result.rule, result.source, result.target), result)
    found = tuple(edges.values())
    straight = drop_circular_prose(draft, found)
    other_rules = other_rules or len(straight) != len(found)
    return _Extracted(found if options.rules_version == "1" else straight, tuple(dict.fromkeys(findings)), other_rules)


def _pairs(results: list[Edge | Finding]) -> set[tuple[str, str]]:
    return {(result.source, result.target) for result in results if isinstance(result, Edge)}


def _require_known_rules(options: CompileOptions) -> None:
    known = {rule.id for rule in RULES}
    unknown = sorted(options.without - known)
    if unknown:
        raise SettingsError(f"There is no rule {unknown[0]}.", hint=f"The rules are {', '.join(sorted(known))}.")
    if TRIGGER_RULE in options.without:
        raise SettingsError(
            f"{TRIGGER_RULE} cannot be switched off: without it, orders would put units before the trigger m.",
            hint=f"Leave {TRIGGER_RULE} out of the list.",
        )


def _digest(skill: Skill, options: Mapping[str, object]) -> str:
    """The identity of the input: paths, bytes and run bits of all files, and the options."""
    files = [[file.path, file.role, file.digest, file.executable] for file in skill.files]
    text = json.dumps([skill.main, files, options], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
