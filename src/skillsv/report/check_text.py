"""The result of a check in words: for the terminal, and as Markdown for a step summary or a comment.

Names, lines, task ids and messages are untrusted: Markdown shows them by `markdown.code` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skillsv.model.check_document import (
    CheckDocument,
    CheckedSkillDocument,
    CheckFindingDocument,
    CheckProofDocument,
    EditDocument,
    TaskChangeDocument,
)
from skillsv.model.format import UNKNOWN, bounds, count, money, plural, points, short_points, task_score
from skillsv.model.value import Interval
from skillsv.report.markdown import code

MOST_EDITS = 8
"""Changes of a skill that are listed."""

MOST_TASKS = 5
"""Tasks that lost score that are listed."""

MOST_FINDINGS = 20
"""Findings of a skill that are listed."""

Quote = Callable[[str], str]
"""How untrusted text is shown."""


def check_lines(result: CheckDocument) -> list[str]:
    """The result in sentences."""
    lines = [headline(result)]
    for skill in result["skills"]:
        lines += [_skill_line(skill, str), *(f"  {line}" for line in _details(skill, result, str))]
    return [*lines, *result["notes"], *_spending(result)]


def check_markdown(result: CheckDocument) -> str:
    """The result as Markdown. All untrusted text is code."""
    lines = ["## Skill check", "", headline(result), ""]
    if result["skills"]:
        lines += ["| skill | verdict | score | tokens | units | findings |", "|---|---|--:|--:|--:|--:|"]
        lines += [_row(skill) for skill in result["skills"]]
        lines.append("")
    for skill in result["skills"]:
        details = list(_details(skill, result, code))
        if details:
            lines += [f"**{code(skill['path'])}**", "", *(f"- {line}" for line in details), ""]
    return "\n".join([*lines, *(f"- {code(note)}" for note in result["notes"]), *_spending(result)]).rstrip() + "\n"


def headline(result: CheckDocument) -> str:
    """What the check shows, in one sentence."""
    skills, limit = result["skills"], short_points(result["max_drop"])
    if not skills:
        return "No skill changed."
    named = plural(len(skills), "changed skill")
    match result["outcome"]:
        case "worse":
            return f"Worse: of {named}, at least one loses more than {limit} points on these tasks."
        case "not shown":
            claim = f"to lose less than {limit} points on {result['claim']}"
            return f"Not shown: of {named}, at least one is not shown {claim}."
        case "no worse":
            return f"No worse: on {result['claim']} the score drops by less than {limit} points ({named})."
        case _:
            return f"{named}, linted and counted; no verdict was asked for."


def _row(skill: CheckedSkillDocument) -> str:
    proof, findings = skill["proof"], skill["findings"]
    new = sum(finding["new"] for finding in findings)
    cells = [
        code(skill["path"]),
        skill["outcome"] or skill["status"],
        UNKNOWN if proof is None else _change(proof),
        _delta(skill["tokens_before"], skill["tokens_after"]),
        _delta(skill["units_before"], skill["units_after"]),
        f"{count(len(findings))} ({count(new)} new)" if findings else "0",
    ]
    return f"| {' | '.join(cells)} |"


def _delta(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return UNKNOWN if after is None else count(after)
    change = after - before
    return f"{count(after)} ({'+' if change > 0 else ''}{count(change)})"


def _change(proof: CheckProofDocument) -> str:
    delta = _interval(proof["delta"])  # type: ignore[arg-type]
    return f"{points(delta.value)} {bounds(delta)}"


def _interval(table: dict[str, float | None]) -> Interval:
    return Interval(*(table[name] or 0.0 for name in ("value", "low", "high")))


def _skill_line(skill: CheckedSkillDocument, quote: Quote) -> str:
    tokens = _delta(skill["tokens_before"], skill["tokens_after"])
    units = _delta(skill["units_before"], skill["units_after"])
    return f"{quote(skill['path'])}: {skill['outcome'] or skill['status']}; tokens {tokens}, units {units}"


def _details(skill: CheckedSkillDocument, result: CheckDocument, quote: Quote) -> Iterator[str]:
    proof = skill["proof"]
    if proof is not None:
        yield (
            f"{plural(proof['pairs'], 'pair')} on {plural(proof['tasks'], 'task')}: change {_change(proof)} points, at "
            f"worst {points(proof['at_worst'])}, at best {points(proof['at_best'])}; "
            f"{short_points(result['max_drop'])} may be lost."
        )
    if skill["error"] is not None:
        yield f"The proof ended early: {quote(skill['error'])}"
    if proof is not None and skill["outcome"] != "no worse":
        yield from _broken(proof["lost"], quote)
    yield from _changes(skill["edits"], quote)
    yield from _findings(skill["findings"], quote)
    yield from (quote(note) for note in skill["notes"])


def _broken(lost: Sequence[TaskChangeDocument], quote: Quote) -> Iterator[str]:
    for row in lost[:MOST_TASKS]:
        pairs = "" if row["pairs"] == 1 else f", mean of {row['pairs']}"
        yield f"Task {quote(row['task'])}: score {task_score(row['old'])} before, {task_score(row['new'])} now{pairs}."
    if len(lost) > MOST_TASKS:
        yield f"{plural(len(lost) - MOST_TASKS, 'more task')} lost score."


def _changes(edits: Sequence[EditDocument], quote: Quote) -> Iterator[str]:
    for edit in edits[:MOST_EDITS]:
        text = edit["text"] or edit["new_text"]
        yield f"{edit_words(edit)} in {quote(edit['file'])}{': ' if text else ''}{quote(text)}"
    if len(edits) > MOST_EDITS:
        yield f"{plural(len(edits) - MOST_EDITS, 'more change')}."


def edit_words(edit: EditDocument) -> str:
    """What happened to which lines: `Deleted line 12 of the base`. The name of the file is untrusted and not there."""
    if edit["kind"] == "file":
        return "Changed file"
    lines, side = (edit["base_lines"], " of the base") if edit["base_lines"] else (edit["lines"], "")
    first, last = lines or (1, 1)
    place = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"{edit['kind'].capitalize()} {place}{side}"


def _findings(findings: Sequence[CheckFindingDocument], quote: Quote) -> Iterator[str]:
    shown = sorted(findings, key=lambda finding: not finding["new"])
    for finding in shown[:MOST_FINDINGS]:
        place = quote(f"{finding['file']}:{finding['line']}")
        new = "" if finding["new"] else " (not new)"
        yield f"{finding['severity']}{new} {place} {quote(finding['message'])} {quote(finding['code'])}"
    if len(shown) > MOST_FINDINGS:
        yield f"{plural(len(shown) - MOST_FINDINGS, 'more finding')}."


def _spending(result: CheckDocument) -> Iterator[str]:
    spent = result["rollouts"]
    if not spent["budget"]:
        return
    cost = "" if not spent["usd"] else f", {money(spent['usd'])}"
    new, reused, budget = (count(spent[name]) for name in ("new", "reused", "budget"))
    yield f"Rollouts: {new} new{cost}, {reused} reused, of at most {budget}."
