"""The step of the action that runs `skillsv check`. Inputs are environment variables; no shell reads them.

Outputs go to GITHUB_OUTPUT, the Markdown to GITHUB_STEP_SUMMARY and to a file beside the JSON. The exit code is that of
the check. Needs nothing but Python and an installed skillsv.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

FLAGS = {
    "INPUT_TASKS": "--tasks",
    "INPUT_AGENT": "--agent",
    "INPUT_MAX_USD": "--budget-usd",
    "INPUT_MAX_ROLLOUTS": "--max-rollouts",
    "INPUT_MAX_DROP": "--max-drop",
    "INPUT_FAIL_ON": "--fail-on",
    "INPUT_SARIF": "--sarif",
    "INPUT_CACHE_DIR": "--cache-dir",
}
"""The flag of each input. An empty input gives no flag."""

REPORT, RESULT = "report.md", "check.json"
"""The files of the result: Markdown, and the JSON that a comment is made from."""


def main() -> int:
    """Run the check, hand on what it found, and return its exit code."""
    folder = Path(os.environ.get("RUNNER_TEMP") or tempfile.mkdtemp()) / "skillsv-check"
    folder.mkdir(parents=True, exist_ok=True)
    for name in (REPORT, RESULT):
        (folder / name).unlink(missing_ok=True)
    done = subprocess.run(check_command(read_event(), folder), check=False)
    if not (folder / RESULT).is_file():
        return done.returncode or 1
    result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    write_outputs({**outputs(result), "report": str(folder / REPORT), "json": str(folder / RESULT)})
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write((folder / REPORT).read_text(encoding="utf-8"))
    return done.returncode


def read_event() -> dict[str, Any]:
    """The event that started the workflow; empty where there is none."""
    path = os.environ.get("GITHUB_EVENT_PATH")
    if not path or not Path(path).is_file():
        return {}
    event = json.loads(Path(path).read_text(encoding="utf-8"))
    return event if isinstance(event, dict) else {}


def check_command(event: dict[str, Any], folder: Path) -> list[str]:
    """The command line. A value is always joined to its flag, so that it can never be another flag."""
    words = ["skillsv", "check", "--quiet", f"--summary={folder / REPORT}", f"--output={folder / RESULT}"]
    words += [f"--base={base_of(event)}"]
    words += [f"{flag}={os.environ[name]}" for name, flag in FLAGS.items() if os.environ.get(name)]
    skills = [line.strip() for line in os.environ.get("INPUT_SKILLS", "").splitlines() if line.strip()]
    return [*words, *(["--", *skills] if skills else [])]


def base_of(event: dict[str, Any]) -> str:
    """The input `base`; else the base commit of the pull request; else the commit before a push."""
    named = os.environ.get("INPUT_BASE", "").strip()
    pull_request = event.get("pull_request") or {}
    commit = (pull_request.get("base") or {}).get("sha") or event.get("before")
    if named or not isinstance(commit, str) or not commit.strip("0"):
        return named or "origin/main"
    return commit


def outputs(result: dict[str, Any]) -> dict[str, str]:
    """The outputs of the action, as texts of one line."""
    skills = result["skills"]
    changes = [skill["proof"]["delta"]["value"] for skill in skills if skill["proof"] is not None]
    return {
        "verdict": result["outcome"] or "none",
        "delta": f"{100 * min(changes):.1f}" if changes else "",
        "tokens-before": str(sum(skill["tokens_before"] or 0 for skill in skills)),
        "tokens-after": str(sum(skill["tokens_after"] or 0 for skill in skills)),
    }


def write_outputs(values: dict[str, str]) -> None:
    """Hand outputs to later steps, between markers that no value can contain."""
    path = os.environ.get("GITHUB_OUTPUT")
    if not path:
        return
    marker = f"end-{uuid.uuid4()}"
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}<<{marker}\n{value}\n{marker}\n" for name, value in values.items())


if __name__ == "__main__":
    sys.exit(main())
