"""The HTTP status in messages of real programs, and the kind of failure that it means."""

from __future__ import annotations

import pytest

from skillsv.agents.provider_errors import kind_of_error, status_in


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Failed to authenticate. API Error: 401 the key is wrong", 401),
        ("API Error: Request rejected (429) · slow down", 429),
        ("unexpected status 401 Unauthorized: no, url: http://127.0.0.1:45835/v1/responses", 401),
        ("exceeded retry limit, last status: 429 Too Many Requests", 429),
        ('[API Error: {"type":"error","error":{"code":503,"message":"no"}}]', 503),
        ("500 the server refuses", 500),
        ("the answer has 404 words", None),
        ("fetch failed", None),
    ],
)
def test_the_status_is_found_in_a_message(message, status):
    assert status_in(message) == status


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        ("no", 429, "rate-limit"),
        ("no", 529, "overload"),
        ("no", 400, "bad-request"),
        ("prompt is too long", 400, "context-overflow"),
        ("no", 408, "timeout"),
        ("connect ECONNREFUSED 127.0.0.1:9", None, "connection"),
        ("no", None, "crash"),
    ],
)
def test_the_kind_follows_from_status_and_message(message, status, kind):
    assert kind_of_error(message, status) == kind
