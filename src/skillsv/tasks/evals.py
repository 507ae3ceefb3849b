"""Reads tasks from a skill's own `evals/evals.json`, in both dialects: `expectations` and `assertions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.jsonl import RecordContext, decode_json, json_kind, read_record
from skillsv.tasks.promptfoo import read_promptfoo
from skillsv.tasks.verifiers.table import compares_with_target

_KNOWN_KEYS = {"id", "prompt", "input", "query", "expected_output", "files", "expectations", "assertions"} | {
    *("verifier", "target", "should_trigger"),
}
"""Keys of an entry that are read; all others become metadata."""

_TEXT_KEYS = ("text", "assertion", "expectation", "description", "value", "name")
"""Keys of an expectation that may hold its text, in order of preference."""


def read_evals(path: Path, verifier: str | None, digester: TaskDigester) -> Iterator[Task]:
    """One task per entry of `evals`: `prompt` is what the agent is asked.

    Prose (`expectations`, `assertions`, else `expected_output`) needs a judge model, so the verifier is `judge`;
    assertions of type `contains` and `not_contains` need none. Entries with their own `verifier` and `target` keep
    them.
    """
    data = decode_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), str(path))
    entries = data.get("evals") if isinstance(data, dict) else data
    if isinstance(data, dict) and "tests" in data and isinstance(data["tests"], list):
        items = [(test, f"{path}: tests[{number}]") for number, test in enumerate(data["tests"])]
        yield from read_promptfoo(data, items, RecordContext(files=path.parent, verifier=verifier, digester=digester))
        return
    if not isinstance(entries, list):
        raise TaskError(
            "There is no list `evals`.", where=str(path), hint='Expected {"evals": [{"id", "prompt", ...}]}.'
        )
    skill = path.parent.parent if path.parent.name == "evals" else path.parent
    context = RecordContext(files=skill, verifier=verifier, digester=digester)
    for number, entry in enumerate(entries, start=1):
        yield _read_entry(entry, context, number, f"{path}: evals[{number - 1}]")


def _read_entry(entry: Any, context: RecordContext, number: int, where: str) -> Task:
    if not isinstance(entry, dict):
        raise TaskError(f"An eval must be an object, not {json_kind(entry)}.", where=where)
    verifier, target = _grading(entry, context.verifier, where)
    others = {key: value for key, value in entry.items() if key not in _KNOWN_KEYS}
    record = {
        "id": entry.get("id", number),
        "input": entry.get("prompt", entry.get("input", entry.get("query"))),
        "target": target,
        "verifier": verifier,
        "should_trigger": entry.get("should_trigger"),
        "files": _files(entry.get("files"), context.files, where),
        "metadata": others,
    }
    task = read_record(record, context, where)
    declared = {key: value for key, value in others.items() if key == "metadata"}
    return replace(task, metadata=declared, undeclared={key: others[key] for key in others.keys() - declared})


def _grading(entry: Mapping[str, Any], given: str | None, where: str) -> tuple[str, Any]:
    """The verifier and the target of an entry. `given` is the verifier that the user named for entries without one."""
    named = entry.get("verifier", given)
    expected_verifier, expected_target = _expectations(entry, where)
    target = entry.get("target", expected_target)
    if not isinstance(named, str) or not compares_with_target(named) or "target" in entry:
        return named or expected_verifier, target
    if expected_verifier == named == "contains":
        return named, target
    return named, _expected_output(entry, named, where)


def _expected_output(entry: Mapping[str, Any], verifier: str, where: str) -> str:
    """What a verifier compares the answer with that cannot understand prose: never an expectation."""
    output = entry.get("expected_output")
    if not isinstance(output, str) or not output.strip():
        raise TaskError(
            f"`{verifier}` cannot grade expectations in prose, and there is no `expected_output`.",
            where=where,
            hint="Name a judge instead (--judge model:PROVIDER:NAME), or add `expected_output` or `target`.",
        )
    return output


def _expectations(entry: Mapping[str, Any], where: str) -> tuple[str, Any]:
    """The verifier and the target for the expectations of an entry."""
    statements = entry.get("expectations") or entry.get("assertions") or entry.get("expected_output")
    if isinstance(statements, str):
        statements = [statements]
    if not statements:
        return "", None
    if not isinstance(statements, list):
        raise TaskError("What is expected must be a list of texts.", where=where)
    if all(_needs_no_judge(statement) for statement in statements):
        return "contains", {
            "all": [item["value"] for item in statements if item["type"] == "contains"],
            "none": [item["value"] for item in statements if item["type"] == "not_contains"],
        }
    return "judge", [_statement(item, where) for item in statements]


def _needs_no_judge(statement: Any) -> bool:
    """Whether it is an assertion of type `contains` or `not_contains`."""
    return (
        isinstance(statement, dict)
        and statement.get("type") in {"contains", "not_contains"}
        and isinstance(statement.get("value"), str)
    )


def _statement(item: Any, where: str) -> str:
    """The text of an expectation for the judge, from a text or an object."""
    if _needs_no_judge(item):
        return f"The answer {'contains' if item['type'] == 'contains' else 'does not contain'}: {item['value']}"
    text = item if isinstance(item, str) else None
    if isinstance(item, dict):
        text = next((item[key] for key in _TEXT_KEYS if isinstance(item.get(key), str)), None)
    if not text:
        raise TaskError(f"An expectation is {json_kind(item)} without a text.", where=where)
    return text


def _files(value: Any, skill: Path, where: str) -> dict[str, str]:
    """Path in the workspace to path below the skill's folder.

    Paths are relative to the skill's folder (`evals/files/x.csv`) or to `evals/`. In the workspace it is `x.csv`.
    """
    if value is None:
        return {}
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TaskError("`files` must be a list of paths.", where=where)
    return {_short_path(name): name if (skill / name).exists() else f"evals/{name}" for name in value}


def _short_path(name: str) -> str:
    return name.removeprefix("./").removeprefix("evals/").removeprefix("files/")
