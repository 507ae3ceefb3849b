"""What all pages share: the template environment, the assets, and the policy that lets nothing load or run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from skillsv.model.format import count, plural, points, with_bounds
from skillsv.report.escape import escape_text
from skillsv.report.figures.svg import STANDALONE
from skillsv.report.sentences import (
    all_notes,
    closure_sentence,
    cost_words,
    early_sentence,
    proof_sentence,
    spending_sentence,
)
from skillsv.report.verdict_styles import style_rules

if TYPE_CHECKING:
    from jinja2 import Environment

TABLE_ROWS = 1_000
"""Rows of a figure's table in one page: an adaptive run may have scored ten thousand partial skills."""


def policy(style: str, script: str) -> str:
    """The content security policy: nothing may load; only the page's own style and script may run, by their hashes."""
    rules = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _inline(svg: str) -> Markup:
    """A drawing for the page, without the attributes that only a saved drawing needs: the page's style has them."""
    return Markup(str(svg).replace(STANDALONE, "", 1))  # noqa: S704  (already markup, only shortened)


@cache
def asset(name: str) -> str:
    """The text of a file in `assets`."""
    return resources.files("skillsv.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """The style of pages that show a skill: colours, layout, and the verdicts."""
    return asset("colours.css") + asset("page.css").replace("/* verdicts */", style_rules())


@cache
def environment() -> Environment:
    """The environment of all templates."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    pages = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (all_notes, closure_sentence, cost_words, early_sentence, plural, proof_sentence, spending_sentence)
    pages.globals["table_rows"] = TABLE_ROWS
    pages.globals.update({function.__name__: function for function in functions})
    pages.filters.update(count=count, escaped=escape_text, inline=_inline, interval=with_bounds, points=points)
    return pages
