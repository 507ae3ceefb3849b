"""Findings in SARIF 2.1.0, the format that code hosts show beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from skillsv.model.skill import Finding

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[tuple[str, Finding]], titles: Mapping[str, str], *, version: str) -> dict[str, Any]:
    """One SARIF log of all findings, each given with the folder of its skill as seen from where the program runs.

    `titles` says for each code what it stands for; only codes that occur are listed. Severities carry over as they
    are: SARIF has the same three levels.
    """
    found = list(findings)
    codes = sorted({finding.code for _, finding in found})
    driver = {
        "name": "skillsv",
        "semanticVersion": version,
        "rules": [{"id": code, "shortDescription": {"text": titles.get(code, code)}} for code in codes],
    }
    results = [_result(folder, finding, codes) for folder, finding in found]
    return {
        "$schema": SARIF_SCHEMA,
        "version": SARIF_VERSION,
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _result(folder: str, finding: Finding, codes: Sequence[str]) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": str(finding.severity),
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(folder, finding.file)},
                    "region": {"startLine": max(1, finding.line)},
                }
            }
        ],
    }


def _uri(folder: str, file: str) -> str:
    """A relative reference (or a file URI for an absolute folder); bytes that are no UTF-8 are percent-encoded."""
    path = quote((folder + file).replace("\\", "/").encode("utf-8", "surrogateescape"))
    return f"file://{path}" if path.startswith("/") else path.removeprefix("./")
