"""The compiler: four deterministic passes from a skill to G = (N, D, H), with no model in the loop."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from skillsv.compile.draft import TRIGGER
from skillsv.compile.extract import extract
from skillsv.compile.hierarchy import document_tree
from skillsv.compile.normalize import normalize
from skillsv.compile.options import CompileOptions
from skillsv.compile.read import read_skill
from skillsv.compile.reconcile import reconcile
from skillsv.compile.units import unitize
from skillsv.model.skill import CompiledSkill, Finding, Skill

DEFAULT = CompileOptions()


def compile_skill(path: Path, options: CompileOptions = DEFAULT) -> CompiledSkill:
    """Read a skill folder or one Markdown file, and compile it."""
    skill, findings = read_skill(path, options)
    return compile_files(skill, options, findings)


def compile_files(skill: Skill, options: CompileOptions = DEFAULT, findings: tuple[Finding, ...] = ()) -> CompiledSkill:
    """Compile a skill that is in memory: cut it, connect it, contract its cycles, repair its hierarchy."""
    draft = unitize(skill, options, findings)
    edges, odd = extract(draft, options)
    normal = normalize(draft, edges)
    tree = document_tree(draft.sections, [unit.id for unit in normal.units], normal.home)
    hierarchy, repairs = reconcile(tree, normal.edges)
    return CompiledSkill(
        skill=skill,
        options=options.as_mapping(),
        trigger=TRIGGER,
        units=normal.units,
        edges=normal.edges,
        hierarchy=hierarchy,
        sections=draft.sections,
        layouts=normal.layouts,
        contractions=normal.contractions,
        repairs=repairs,
        findings=(*draft.findings, *odd),
        digest=_digest(skill, options),
    )


def _digest(skill: Skill, options: CompileOptions) -> str:
    """Names the input: paths, bytes and run bits of all files, and the options."""
    files = [[file.path, file.role, file.digest, file.executable] for file in skill.files]
    text = json.dumps([skill.main, files, options.as_mapping()], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
