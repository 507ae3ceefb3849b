"""Renderings a second of one core for a 50-unit skill, self-check included, as multiples of copying the same bytes."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from skillsv.compiler import compile_skill
from skillsv.model.coalition import Coalition, Operator
from skillsv.model.skill import CompiledSkill
from skillsv.order import Sampler
from skillsv.rendering import Renderer

TEXT = "Check the ledger before you answer, and name the page where the figure stands, since totals are often restated"


def figures() -> list[tuple[str, float, str]]:
    compiled = fifty_units()
    coalitions = prefixes(compiled, chains=60)
    data = compiled.skill.files[0].data or b""
    copying = per_call(lambda _: b"".join([data[:-1], data[-1:]]), coalitions)
    found = [("units, trigger included", float(len(compiled.units)), "units"), ("main file", len(data) / 1000, "kB")]
    for operator, chosen in ((Operator.DELETE, coalitions), (Operator.PAD, coalitions[:600])):
        renderer = Renderer(compiled)
        cold = per_call(lambda kept, r=renderer, o=operator: r.render(kept, o), chosen)
        warm = per_call(lambda kept, r=renderer, o=operator: r.render(kept, o), chosen)
        found += [
            (f"{operator}, first pass over {len(chosen)} prefixes", 1 / cold, "renderings a second"),
            (f"{operator}, second pass", 1 / warm, "renderings a second"),
            (f"{operator}, second pass", warm / copying, "x copying the main file"),
        ]
    return found


def per_call(work, coalitions: list[Coalition]) -> float:
    start = time.process_time()
    for coalition in coalitions:
        work(coalition)
    return (time.process_time() - start) / len(coalitions)


def prefixes(compiled: CompiledSkill, chains: int) -> list[Coalition]:
    """All prefixes of a number of sampled orders: what a valuation renders."""
    orders = Sampler(compiled).orders(np.random.default_rng(3), chains)
    return [frozenset(order[:length]) for order in orders for length in range(1, len(order) + 1)]


def fifty_units() -> CompiledSkill:
    """Seven sections with a lead-in and six items each, compiled from a file written here."""
    lines = ["---", "name: bench", "description: Measures how fast partial skills are rendered.", "---", ""]
    for section in range(7):
        lines += [f"## Part {section}", "", f"What to do in part {section}. {TEXT}.", ""]
        lines += [f"- **Rule {section}.{item}** {TEXT}, rule {item}." for item in range(6)]
        lines += [""]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "SKILL.md").write_text("\n".join(lines), encoding="utf-8")
        return compile_skill(Path(folder))


if __name__ == "__main__":
    for what, value, unit in figures():
        print(f"{value:>14.3f}  {unit:<34} {what}")
