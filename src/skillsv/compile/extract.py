"""Pass 2, extraction: the rules look at the cut skill and say which unit needs which."""

from __future__ import annotations

from skillsv.compile.draft import Draft
from skillsv.compile.options import CompileOptions
from skillsv.compile.rules import RULES, TRIGGER_RULE
from skillsv.errors import SettingsError
from skillsv.model.skill import Edge, Finding


def extract(draft: Draft, options: CompileOptions) -> tuple[tuple[Edge, ...], tuple[Finding, ...]]:
    """All edges of the enabled rules, one per rule and pair of units, and what the rules found odd."""
    known = {rule.id for rule in RULES}
    unknown = sorted(options.without - known)
    if unknown:
        raise SettingsError(f"There is no rule {unknown[0]}.", hint=f"The rules are {', '.join(sorted(known))}.")
    if TRIGGER_RULE in options.without:
        raise SettingsError(
            f"{TRIGGER_RULE} cannot be switched off: without it, orders would put units before the trigger m.",
            hint=f"Leave {TRIGGER_RULE} out of the list.",
        )
    edges: dict[tuple[str, str, str], Edge] = {}
    findings: list[Finding] = []
    for rule in RULES:
        if rule.id in options.without:
            continue
        for found in rule.apply(draft):
            if isinstance(found, Finding):
                findings.append(found)
            else:
                edges.setdefault((found.rule, found.source, found.target), found)
    return tuple(edges.values()), tuple(dict.fromkeys(findings))
