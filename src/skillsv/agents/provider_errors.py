"""What the error of a model provider means for a rollout, from its HTTP status and message."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skillsv.model.rollout import FailureKind

STATUSES: Mapping[int, FailureKind] = {
    408: FailureKind.TIMEOUT,
    409: FailureKind.OVERLOAD,
    413: FailureKind.CONTEXT_OVERFLOW,
    425: FailureKind.OVERLOAD,
}
"""HTTP statuses below 500 that are not bad requests, besides 429. A retry cannot help with any other."""

PERMANENT_STATUSES: Mapping[int, str] = {
    401: "Check the key in the environment, and that it may use this model.",
    402: "Top up the account, then run the same command again: it resumes.",
    403: "Check the key in the environment, and that it may use this model.",
    404: "Check the model's name and the base URL.",
}
"""HTTP statuses that every rollout would meet, with a hint for the user."""

PROMPT_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window|limit)|exceed_context|(prompt|input) is too long"
    r"|(prompt|input) token.{0,40}exceed|reduce the length",
    re.IGNORECASE,
)
"""Messages about a prompt that is too long, for providers whose error code only says that the request is bad."""

_STATUS_IN_TEXT = re.compile(r"(?:^|(?:status|code|error|rejected)\W{1,4})([45]\d\d)\b", re.IGNORECASE)
"""An HTTP status in a message of a program, such as `API Error: 401` or `status 429`."""

_NO_CONNECTION = re.compile(
    r"ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|fetch failed|socket hang up|error sending request|stream disconnected"
    r"|connection (error|refused|reset|failed)|cannot connect|unable to connect|network error",
    re.IGNORECASE,
)
"""Messages about a server that cannot be reached."""


def status_in(message: str) -> int | None:
    """The HTTP status that a message names."""
    found = _STATUS_IN_TEXT.search(message)
    return None if found is None else int(found.group(1))


def kind_of_error(message: str, status: int | None) -> FailureKind:
    """The kind of failure for a provider's error that a program reports."""
    if (status is None or status in {400, 413}) and PROMPT_TOO_LONG.search(message):
        return FailureKind.CONTEXT_OVERFLOW
    if status is None:
        return FailureKind.CONNECTION if _NO_CONNECTION.search(message) else FailureKind.CRASH
    if status == 429:
        return FailureKind.RATE_LIMIT
    return FailureKind.OVERLOAD if status >= 500 else STATUSES.get(status, FailureKind.BAD_REQUEST)
