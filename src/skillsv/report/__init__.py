"""The result for people and programs: HTML page, terminal table, Markdown, JUnit, JSON, SARIF, graphs.

Everything here is a pure function of finished data. Numbers for people are written by `skillsv.model.format`.

html          the page; its docstring says how to add a panel     page_figures  its drawings, by name
headline      what to do, in one sentence                         next_steps    what to do next, with commands
page_checks   the checks at the top of the page                   run_facts     where the valuation comes from
file_views    the skill, as written                               unit_views    one unit of it, with its details
reasons       why a unit has its verdict                          evidence      the tasks that decided, as data
edits         a shorter skill: diff and patch                     shorter_views the same, and relations, for the page
chain_views   chains and transcripts                              line_names    units by line and first words
figures/      the drawings, one function each                     marginals     differences that the drawings show
verdict_styles  marks, colours and meanings of verdicts
graph         the compiled skill as SVG                           graph_dot     the same for Graphviz
outline       the compiled skill as text                          compiled_json the same as JSON, and findings as SARIF
text          terminal table, Markdown summary, JUnit             valuation_json the valuation as JSON
check_text    a check in words and Markdown                       check_files   the same as SARIF and JUnit
markdown      untrusted text inside Markdown
sentences     labels of units, sentences about a valuation        escape        untrusted text made safe
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillsv.report.html import page
    from skillsv.report.valuation_json import valuation_dict

__all__ = ["page", "valuation_dict"]

_MODULES = {"page": "skillsv.report.html", "valuation_dict": "skillsv.report.valuation_json"}


def __getattr__(name: str) -> Any:
    # Imported on first use: `skillsv compile` needs the outline alone, not the page and its figures.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
