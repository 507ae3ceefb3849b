"""Write the result of a check as one comment on the pull request: created once, then updated.

python write_comment.py check.json

The comment is found by a hidden marker. Reads GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_API_URL and the event. The JSON
may come from a workflow that ran untrusted code (a pull request from a fork): it is checked against its types, and the
Markdown is made here, where all of its texts are escaped. The pull request is the one of the event, never of the JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARKER = "<!-- skillsv-check -->"
"""The first line of the comment. A report cannot contain it: its untrusted text has no angle brackets."""

MOST_CHARACTERS = 60_000
"""The longest report; GitHub allows 65,536 characters."""

MOST_BYTES = 5_000_000
"""The largest JSON that is read."""

MOST_PAGES = 50
"""Pages of a hundred comments that are searched for the marker."""

REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
"""The name of a repository."""


def main(words: list[str]) -> int:
    """Create or update the comment."""
    if len(words) != 1:
        print("usage: write_comment.py check.json", file=sys.stderr)
        return 2
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    if not REPOSITORY.fullmatch(repository):
        print("GITHUB_REPOSITORY names no repository.", file=sys.stderr)
        return 2
    body = comment_body(Path(words[0]))
    try:
        number = find_pull_request(repository, read_event())
        if number is None:
            print("No pull request to comment on.")
            return 0
        own = find_comment(repository, number)
        if own is None:
            call("POST", f"/repos/{repository}/issues/{number}/comments", {"body": body})
        else:
            call("PATCH", f"/repos/{repository}/issues/comments/{own}", {"body": body})
    except urllib.error.HTTPError as error:
        print(f"The comment could not be written: {error.code} {error.reason}.", file=sys.stderr)
        print("The token of a pull request from a fork only reads; see examples/ci/comment.yml.", file=sys.stderr)
        return 0
    print("Created the comment." if own is None else "Updated the comment.")
    return 0


def comment_body(path: Path) -> str:
    """The result as Markdown behind the marker, cut where it is too long. Raises ValueError for another JSON."""
    import msgspec

    from skillsv.model.check_document import CheckDocument
    from skillsv.report.check_text import check_markdown

    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is too large")
    text = check_markdown(msgspec.json.decode(path.read_bytes(), type=CheckDocument))
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS].rsplit("\n", 1)[0] + "\n\nThe report is longer; the step summary has all of it.\n"
    return f"{MARKER}\n{text}"


def read_event() -> dict[str, Any]:
    """The event that started the workflow; empty where there is none."""
    path = os.environ.get("GITHUB_EVENT_PATH")
    if not path or not Path(path).is_file():
        return {}
    event = json.loads(Path(path).read_text(encoding="utf-8"))
    return event if isinstance(event, dict) else {}


def find_pull_request(repository: str, event: dict[str, Any]) -> int | None:
    """The pull request of the event, or the open one whose head commit the workflow of the event ran on."""
    number = (event.get("pull_request") or {}).get("number")
    if isinstance(number, int):
        return number
    finished = event.get("workflow_run") or {}
    owner = ((finished.get("head_repository") or {}).get("owner") or {}).get("login")
    branch, commit = finished.get("head_branch"), finished.get("head_sha")
    if not owner or not branch or not commit:
        return None
    head = urllib.parse.quote(f"{owner}:{branch}", safe="")
    found = call("GET", f"/repos/{repository}/pulls?state=open&head={head}")
    return next((int(one["number"]) for one in found if one["head"]["sha"] == commit), None)


def find_comment(repository: str, number: int) -> int | None:
    """The comment of this action: the first that begins with the marker and was written by a program."""
    for comment in comments(repository, number):
        user = comment.get("user") or {}
        if user.get("type") == "Bot" and str(comment.get("body", "")).startswith(MARKER):
            return int(comment["id"])
    return None


def comments(repository: str, number: int) -> Iterator[dict[str, Any]]:
    """All comments of the pull request, page by page."""
    for page in range(1, MOST_PAGES + 1):
        found = call("GET", f"/repos/{repository}/issues/{number}/comments?per_page=100&page={page}")
        yield from found
        if len(found) < 100:
            return


def call(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    """One call of GitHub's API."""
    url = os.environ.get("GITHUB_API_URL", "https://api.github.com") + path
    headers = {
        "Authorization": f"Bearer {os.environ.get('GITHUB_TOKEN', '')}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310 - GitHub's own address
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - GitHub's own address
        return json.load(response)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
