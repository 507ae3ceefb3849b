"""How a benchmark run differs from the paper's: agent, settings, regions, tasks, panels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skillsv_bench.benchmark import PaperSetting
from skillsv_bench.registry import NAMES, find_benchmark
from skillsv_bench.results import Results

PAPER_AGENT = "GPT-5.5"
"""The frozen agent of the paper."""

PAPER_SETTINGS: Mapping[str, Any] = {
    "method": "chain",
    "orders": 12,
    "window": 8,
    "tolerance": 0.05,
    "granularity": "block",
    "seed": 42,
}
"""Settings that the paper gives."""


def describe_differences(results: Results) -> tuple[str, ...]:
    """One sentence for each difference, and the notes that the run itself left."""
    return tuple(f"{results['title']}: {sentence}" for sentence in _sentences(results))


def _sentences(results: Results) -> Iterator[str]:
    settings = results.get("settings", {})
    yield f"the agent is {results['agent']}; the paper's is {PAPER_AGENT}."
    for name, value in PAPER_SETTINGS.items():
        if name in settings and settings[name] != value:
            yield f"{name} is {_shown(settings[name])}; the paper's is {_shown(value)}."
    yield _regions(settings.get("regions", "atomic"))
    if results.get("split", "test") != "test":
        yield f"the tasks are those of the split {results['split']}; the paper's are those of test."
    if results["benchmark"] in NAMES:
        yield from _panels(results, find_benchmark(results["benchmark"]).paper)
    yield from results.get("notes", ())


def _shown(value: Any) -> str:
    return "off" if value is None else str(value)


def _regions(regions: str) -> str:
    if regions == "split":
        return (
            "regions of an optimizer are split into units, as in the paper's table (`skillsv value` keeps them whole)."
        )
    return "regions of an optimizer are one unit each; the paper's table splits them (`--regions split`)."


def _panels(results: Results, paper: PaperSetting) -> Iterator[str]:
    panels = results.get("panels", {})
    if (panels.get("a"), panels.get("b")) != (paper.panel_a, paper.panel_b):
        yield (
            f"panel A has {panels.get('a')} tasks and panel B {panels.get('b')}; "
            f"the paper's have {paper.panel_a} and {paper.panel_b}."
        )
    if results.get("turns") != paper.turns:
        yield f"a rollout has {results.get('turns')} turns; the paper's has {paper.turns}."
