"""The table of verifiers."""

from __future__ import annotations

import pytest

from skillsv.tasks.verifiers.table import EXTERNAL_VERIFIERS, KNOWN_SPECS, TARGET_VERIFIERS, runs_code


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        *((name, False) for name in ("", "judge", "judge:", *TARGET_VERIFIERS, "numeric:2%", "inspect:match")),
        *((spec, True) for spec in ("python:check.py:score", " python:check.py:score", "command:true", "harbor:task")),
        ("judge:model:openai:NAME", True),
        ("unknown", True),
    ],
)
def test_runs_code_is_true_for_programs_models_and_unknown_verifiers(spec, expected):
    assert runs_code(spec) is expected


def test_message_about_an_unknown_verifier_lists_the_table():
    listed = {spec.partition(":")[0] for spec in KNOWN_SPECS}
    assert listed == {*TARGET_VERIFIERS, *EXTERNAL_VERIFIERS, "judge"} - {"harbor"}
