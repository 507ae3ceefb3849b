"""TextWorld made quick without a change of what it says: what it works out again and again is remembered.

A reset of an ALFWorld game translates its PDDL four times (twice of them for a planner that nobody asks here), and
every step parses the same few phrases of the grammar, and searches all facts, for each admissible action. All of these
are pure functions of their text, or of few facts. `install_caches` replaces them in this process, which must be a
worker's own: a test compares episodes with those of a process that was left alone.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from importlib import import_module
from typing import Any

GAMES_KEPT = 64
"""Games that one process keeps translated, at about three megabytes each: as many as a panel of the paper has."""


def install_caches() -> None:
    """Replace the functions of TextWorld and its planner that are asked the same thing over and over."""
    downward: Any = import_module("fast_downward")
    logic: Any = import_module("textworld.envs.pddl.logic")
    textgen: Any = import_module("textworld.envs.pddl.textgen")
    rule: Any = import_module("textworld.logic").Rule

    downward.pddl2sas = _translated_once(downward.pddl2sas)
    logic._parse_and_convert = functools.lru_cache(GAMES_KEPT)(logic._parse_and_convert)  # noqa: SLF001
    textgen._parse_and_convert = _parsed_once(textgen._parse_and_convert)  # noqa: SLF001
    textgen.copy_context = _copied_context
    textgen.EvalSymbol.derive = _evaluated(textgen.TerminalSymbol)
    textgen.ContextSensitiveGrammar.derive = _derived_once(textgen.ContextSensitiveGrammar.derive)
    rule.parse_conjunctive_query = functools.lru_cache(None)(rule.parse_conjunctive_query)
    _note_changes(logic.PddlState)


def _translated_once(translate: Callable[..., Any]) -> Callable[..., Any]:
    """The planner's form of a game. The second form, for a search that nobody starts here, is the first one again."""
    kept = functools.lru_cache(GAMES_KEPT)(translate)

    def translated(domain: str, problem: str, verbose: bool = False, optimize: bool = False) -> Any:  # noqa: FBT001, FBT002 - TextWorld's signature
        del verbose, optimize
        return kept(domain, problem)

    return translated


def _parsed_once(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Symbols of a phrase of the grammar; copies, because whoever gets them hangs a context onto each."""
    kept = functools.lru_cache(None)(parse)

    def parsed(*phrase: Any, **how: Any) -> Any:
        return deepcopy(kept(*phrase, **how))

    return parsed


def _note_changes(state: Any) -> None:
    """Have states list their facts once per change, and count the changes by predicate."""
    listed, applied = state.facts.fget, state.apply

    def facts(self: Any) -> list[Any]:
        notes = _notes(self)
        if notes.facts is None:
            notes.facts = list(listed(self))
        return notes.facts

    def apply(self: Any, action: Any) -> Any:
        notes = _notes(self)
        changes = applied(self, action)
        notes.facts = None
        notes.changes.update(change.name.removeprefix("not_") for change in changes)
        return changes

    state.facts, state.apply = property(facts), apply


class _Notes:
    """What is remembered of the state of one episode."""

    def __init__(self) -> None:
        self.facts: list[Any] | None = None
        self.changes: Counter[str] = Counter()
        self.phrases: dict[Any, str] = {}


def _notes(state: Any) -> _Notes:
    notes: _Notes | None = state.__dict__.get("_notes")
    if notes is None:
        notes = state._notes = _Notes()  # noqa: SLF001
    return notes


@functools.lru_cache(GAMES_KEPT)
def _first_phrases(problem: str) -> dict[Any, str]:
    """The words for actions while the facts they depend on are as in the beginning: the same in every episode."""
    del problem
    return {}


def _derived_once(derive: Callable[..., str]) -> Callable[..., str]:
    """The words for an action. They depend on the things it names and on the facts that their template asks for."""

    def derived(grammar: Any, start: str, context: Mapping[str, Any]) -> str:
        predicates = _predicates(start)
        if predicates is None:
            return derive(grammar, start, context)
        notes = _notes(context["state"])
        changes = tuple(notes.changes[predicate] for predicate in predicates)
        phrases = notes.phrases if any(changes) else _first_phrases(context["state"].pddl_problem)
        key = (start, changes, tuple(context["mapping"].items()))
        if key not in phrases:
            phrases[key] = derive(grammar, start, context)
        return phrases[key]

    return derived


@functools.lru_cache(None)
def _predicates(phrase: str) -> tuple[str, ...] | None:
    """The predicates that a phrase asks for; None for one that leads to other phrases, and so to anything."""
    if "#" in phrase:
        return None
    return tuple(name.removeprefix("not_") for name in re.findall(r"(\w+)\(", phrase))


def _copied_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """A context whose two dictionaries can be added to; what they hold is never changed."""
    return {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}


def _evaluated(terminal: Callable[[str], Any]) -> Callable[..., Any]:
    """What `{...}` in a grammar stands for: names, their attributes and texts, joined by `+` or `or`. Never other code.

    A game file is data from elsewhere, and TextWorld would run whatever Python stands there.
    """

    def derive(symbol: Any, context: Mapping[str, Any] | None = None) -> list[Any]:
        variables = (context or symbol.context)["variables"]
        return [terminal(_value(_expression(symbol.expression), variables))]

    return derive


@functools.lru_cache(None)
def _expression(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _value(node: ast.expr, variables: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return variables[name]
        case ast.Attribute(value=whose, attr=name) if not name.startswith("_"):
            return getattr(_value(whose, variables), name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, variables) + _value(right, variables)
        case ast.BoolOp(op=ast.Or(), values=[*choices]):
            return next(filter(None, (_value(choice, variables) for choice in choices)), "")
    raise ValueError(f"the grammar holds an expression that is not one of names and texts: {ast.unparse(node)}")
