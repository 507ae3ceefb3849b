"""Reads the tests of promptfoo: `vars` and the prompt make the input, `assert` makes verifier and target.

Assertions that have no counterpart here are refused by name: a test that is graded by a part of its assertions would
measure something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillsv.errors import TaskError
from skillsv.model.task import Task
from skillsv.tasks.jsonl import RecordContext, derived_id, json_kind, read_record
from skillsv.tasks.verifiers.table import compares_with_target

TestItem = tuple[Any, str]
"""One test as it stands in its file, and its location."""

_INPUTS = ("input", "prompt", "question", "query", "request", "message", "text")
"""Variables that are the input where there is no prompt and more than one variable, in order of preference."""

_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
"""A variable in a template."""

_CHANGES_GRADING = ("threshold", "assertScoringFunction", "options", "provider", "providerOutput")
"""Keys of a test that change what is graded, or how. They have no counterpart here."""

_PROSE = {"llm-rubric", "model-graded-closedqa"}
"""Assertions that a judge model decides."""

Part = dict[str, Any]
"""One part of the verifier `all`."""


def _texts(value: Any) -> list[str]:
    """The texts of a list, or of a text with commas."""
    words = value if isinstance(value, list) else str(value).split(",")
    return [str(word).strip() for word in words]


def _ahead(text: str) -> str:
    return f"(?=.*{re.escape(text)})"


_MAPPED: Mapping[str, Callable[[Any], Part]] = {
    "equals": lambda value: {"verifier": "json" if isinstance(value, dict | list) else "exact", "target": value},
    "contains": lambda value: {"verifier": "regex", "target": re.escape(str(value))},
    "contains-any": lambda value: {"verifier": "regex", "target": [re.escape(text) for text in _texts(value)]},
    "contains-all": lambda value: {"verifier": "regex", "target": rf"(?s)\A{''.join(map(_ahead, _texts(value)))}"},
    "icontains": lambda value: {"verifier": "contains", "target": str(value)},
    "icontains-any": lambda value: {"verifier": "contains", "target": {"any": _texts(value)}},
    "icontains-all": lambda value: {"verifier": "contains", "target": {"all": _texts(value)}},
    "starts-with": lambda value: {"verifier": "regex", "target": rf"\A{re.escape(str(value))}"},
    "regex": lambda value: {"verifier": "regex", "target": str(value)},
}
"""Assertions on the text of the answer, each as a part of the verifier `all`."""


def is_promptfoo(config: Mapping[str, Any], items: Sequence[TestItem]) -> bool:
    """Whether a file holds tests of promptfoo."""
    keys = {"vars", "assert"}
    return "prompts" in config or any(isinstance(item, dict) and keys & item.keys() for item, _ in items)


def expected_column(cell: str) -> dict[str, Any]:
    """The assertion of a cell in a column `__expected`: `contains: paid`, or a text that the answer equals."""
    name, colon, value = cell.partition(":")
    kind = name.strip().partition("(")[0]
    if colon and (_is_mapped(kind) or kind.removeprefix("not-") in _OTHERS):
        return {"type": {"grade": "llm-rubric"}.get(kind, kind), "value": value.strip()}
    return {"type": "equals", "value": cell.strip()}


_OTHERS = {"python", "javascript", "fn", "eval", "grade", "similar", "webhook", "cost", "latency", "bleu", "file"} | {
    *("is-json", "contains-json", "is-sql", "is-xml", "rouge-n", "levenshtein", "factuality", "answer-relevance"),
    *("g-eval", "is-refusal", "moderation", "perplexity", "classifier", "pi", "similar", "word-count"),
}
"""Assertions of promptfoo that have no counterpart here, so that a cell that names one is not taken for a text."""


def read_promptfoo(config: Mapping[str, Any], items: Sequence[TestItem], context: RecordContext) -> Iterator[Task]:
    """One task per test. Raises TaskError that names every assertion that cannot be used, and the first place of it."""
    defaults = config.get("defaultTest") or {}
    first = items[0][1] if items else ""
    if not isinstance(defaults, Mapping):
        raise TaskError("`defaultTest` is not a mapping.", where=first, hint="Write it into this file.")
    template = _template(config.get("prompts"), context.files, first)
    tests = [_merged(item, defaults, where) for item, where in items]
    if context.verifier is None:
        _refuse_unmapped([(test, where) for test, (_, where) in zip(tests, items, strict=True)])
    for test, (_, where) in zip(tests, items, strict=True):
        yield _read_test(test, template, context, where)


def _merged(item: Any, defaults: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A test with what `defaultTest` adds."""
    if not isinstance(item, dict):
        raise TaskError(f"A test must be a mapping, not {json_kind(item)}.", where=where)
    variables, checks = item.get("vars") or {}, item.get("assert") or []
    if not isinstance(variables, Mapping) or not isinstance(checks, list):
        raise TaskError("`vars` must be a mapping, and `assert` a list.", where=where)
    return {
        **defaults,
        **item,
        "vars": {**(defaults.get("vars") or {}), **variables},
        "assert": [*checks, *(defaults.get("assert") or [])],
    }


def _refuse_unmapped(tests: Sequence[tuple[Mapping[str, Any], str]]) -> None:
    found: dict[str, str] = {}
    for test, where in tests:
        for name in [*(key for key in _CHANGES_GRADING if test.get(key)), *map(_unmapped, test["assert"])]:
            if name:
                found.setdefault(name, where)
    if found:
        names = ", ".join(f"`{name}`" for name in found)
        raise TaskError(
            f"These parts of promptfoo tests have no counterpart here: {names}.",
            where=next(iter(found.values())),
            hint="Remove them, or grade by a function of your own: --verifier python:FILE.py:function gets the "
            f"assertions as the target. Known: {', '.join([*_MAPPED, *sorted(_PROSE)])}, each also with `not-`.",
        )


def _is_mapped(kind: str) -> bool:
    return kind.removeprefix("not-") in _MAPPED or kind in _PROSE


def _unmapped(check: Any) -> str | None:
    """What of an assertion cannot be used; None where all of it can."""
    if not isinstance(check, Mapping) or not isinstance(check.get("type"), str):
        return "an assertion without a type"
    kind, value = str(check["type"]), check.get("value")
    if not _is_mapped(kind):
        return kind
    if check.get("transform"):
        return f"{kind} with transform"
    if value is None or (isinstance(value, str) and value.startswith("file://")):
        return f"{kind} without a value in this file"
    return None


def _read_test(test: Mapping[str, Any], template: str | None, context: RecordContext, where: str) -> Task:
    variables: Mapping[str, Any] = test["vars"]
    text = _input(variables, template, where)
    verifier, target = _grading(test["assert"], variables, context.verifier, where)
    record = {
        "id": test.get("id") or derived_id(text, repr(sorted(variables.items()))),
        "input": text,
        "target": target,
        "verifier": verifier,
    }
    task = read_record(record, context, where)
    others = {key: value for key, value in test.items() if key in {"description", "metadata", "vars"} and value}
    return context.digester(replace(task, undeclared=others))


def _grading(
    checks: Sequence[Mapping[str, Any]], variables: Mapping[str, Any], given: str | None, where: str
) -> tuple[str | None, Any]:
    """The verifier and the target of a test's assertions. A verifier that the user names gets them all as target."""
    if given is not None:
        if checks and compares_with_target(given):
            raise TaskError(
                f"This test has assertions of its own; `{given}` would compare the answer with none of them.",
                where=where,
                hint="Leave out --verifier, or name a function: --verifier python:FILE.py:function.",
            )
        return None, list(checks) or None
    counted = [check for check in checks if check.get("weight") != 0]
    if not counted:
        raise TaskError("This test has no assertion.", where=where, hint="Add `assert`, or give --verifier.")
    if any(check["type"] in _PROSE for check in counted):
        return "judge", [_sentence(check, variables, where) for check in counted]
    parts = [_part(check, variables, where) for check in counted]
    only = parts[0]
    return (only["verifier"], only["target"]) if len(parts) == 1 and "not" not in only else ("all", parts)


def _part(check: Mapping[str, Any], variables: Mapping[str, Any], where: str) -> Part:
    """An assertion as a part of the verifier `all`."""
    part = _MAPPED[check["type"].removeprefix("not-")](_filled(check["value"], variables, where))
    return {**part, "not": True} if check["type"].startswith("not-") else part


def _sentence(check: Mapping[str, Any], variables: Mapping[str, Any], where: str) -> str:
    """An assertion in words, for a test that a judge decides."""
    value = _filled(check["value"], variables, where)
    if check["type"] in _PROSE:
        return str(value)
    negated = "not " if check["type"].startswith("not-") else ""
    return f"It is {negated}true of the answer: {check['type'].removeprefix('not-')} {value}"


def _input(variables: Mapping[str, Any], template: str | None, where: str) -> str:
    """What the agent is asked: the prompt with its variables, or the one variable that is the question."""
    if template is not None:
        return str(_filled(template, variables, where))
    name = next(iter(variables)) if len(variables) == 1 else next((key for key in _INPUTS if key in variables), None)
    if name is None:
        names = ", ".join(f"`{key}`" for key in variables)
        raise TaskError(
            f"It is not clear which of {names} is the question." if names else "There are no `vars`.",
            where=where,
            hint="Call one of them `input`, or add `prompts` with one prompt.",
        )
    return str(_filled(variables[name], variables, where))


def _filled(value: Any, variables: Mapping[str, Any], where: str) -> Any:
    """A text with its variables in place; other values as they are."""
    if isinstance(value, list):
        return [_filled(item, variables, where) for item in value]
    if not isinstance(value, str):
        return value

    def fill(match: re.Match[str]) -> str:
        found = variables.get(match.group(1))
        if found is None or isinstance(found, dict | list) or str(found).startswith("file://"):
            raise TaskError(
                f"The variable `{match.group(1)}` is not a text in this file.", where=where, hint="Write it out."
            )
        return str(found)

    text = _VARIABLE.sub(fill, value)
    if re.search(r"\{%|\{\{", _VARIABLE.sub("", value)):
        raise TaskError("Only variables such as {{name}} are filled in.", where=where, hint="Write the text out.")
    return text


def _template(prompts: Any, folder: Path, where: str) -> str | None:
    """The one prompt of a configuration; None where there is none."""
    found = prompts if isinstance(prompts, list) else [] if prompts is None else [prompts]
    if not found:
        return None
    if len(found) > 1:
        raise TaskError(f"There are {len(found)} prompts; a task has one input.", where=where, hint="Keep one of them.")
    prompt = found[0].get("raw", found[0].get("content")) if isinstance(found[0], Mapping) else found[0]
    if isinstance(prompt, str) and prompt.startswith("file://"):
        return _prompt_file(folder, prompt.removeprefix("file://"), where)
    if not isinstance(prompt, str):
        raise TaskError("The prompt is not a text.", where=where)
    return prompt


def _prompt_file(folder: Path, name: str, where: str) -> str:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or path.suffix not in {".txt", ".md"} or not path.is_file():
        raise TaskError(f"The prompt `{name}` is not a text file beside the tests.", where=where)
    return path.read_text("utf-8", errors="replace")
