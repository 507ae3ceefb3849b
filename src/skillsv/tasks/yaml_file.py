"""Reads tasks from YAML: a list of tasks with the keys of a JSONL line, or the tests of promptfoo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from skillsv.errors import TaskError
from skillsv.model.frontmatter import yaml_problem
from skillsv.model.task import Task
from skillsv.tasks.files import TaskDigester
from skillsv.tasks.jsonl import RecordContext, derived_id, json_kind, read_record
from skillsv.tasks.promptfoo import TestItem, is_promptfoo, read_promptfoo

MAX_VALUES = 1_000_000
"""Values of a file with every alias written out."""

_LISTS = ("tasks", "tests")
"""Keys of a mapping that may hold the list."""


class _Loader(yaml.SafeLoader):
    """YAML with the words of version 1.2: `yes`, `12:30`, `007` and dates are texts, as people mean them."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the class attribute of the base class


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), "-+0123456789")
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$"), "-+0123456789"
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"), "<")


def read_yaml(path: Path, verifier: str | None, digester: TaskDigester) -> Iterator[Task]:
    """One task per item of the list. Raises TaskError, with `file:line`, for an item that is not a task."""
    context = RecordContext(files=path.parent, verifier=verifier, digester=digester)
    config, items = _load(path)
    if is_promptfoo(config, items):
        yield from read_promptfoo(config, items, context)
        return
    for item, where in items:
        named = isinstance(item, dict) and "id" not in item
        record = {"id": derived_id(str(item.get("input", ""))), **item} if named else item
        yield read_record(record, context, where)


def _load(path: Path) -> tuple[dict[str, Any], list[TestItem]]:
    """The mapping around the list, without it (empty for a plain list), and the items, each with its location."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        problem = yaml_problem(text, values=MAX_VALUES)
        if problem:
            raise TaskError(f"This YAML is not read: {problem}.", where=str(path))
        loader = _Loader(text)
        node = loader.get_single_node()
        config: dict[str, Any] = {}
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value in _LISTS), None)
            config = {key.value: loader.construct_object(value, deep=True) for key, value in node.value}
            node = None if found is None else found[1]
            if found is not None and isinstance(node, yaml.SequenceNode):
                del config[found[0].value]
        if not isinstance(node, yaml.SequenceNode):
            raise TaskError(
                "There is no list of tasks.", where=str(path), hint="Write a list, or one under `tasks` or `tests`."
            )
        items = [
            (loader.construct_object(item, deep=True), f"{path}:{item.start_mark.line + 1}") for item in node.value
        ]
    except UnicodeDecodeError as error:
        raise TaskError(f"This is not UTF-8 text (byte {error.start}).", where=str(path)) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise TaskError(f"This is not YAML: {reason}.", where=where) from error
    if items and not isinstance(items[0][0], dict):
        raise TaskError(f"A task must be a mapping, not {json_kind(items[0][0])}.", where=items[0][1])
    return config, items
