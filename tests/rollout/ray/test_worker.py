"""A worker never prints the value of a forwarded variable."""

import io
import pickle

from skillsv.rollout.ray.worker import WorkerSetup
from skillsv.sandbox.redaction import RedactingStream


def test_secret_values_become_names_and_short_values_stay():
    stream = io.StringIO()
    with_names = RedactingStream(stream, {"KEY": "sk-12345678", "LEVEL": "1"})
    print("1 key is sk-12345678, twice: sk-12345678", file=with_names, flush=True)
    assert stream.getvalue() == "1 key is [KEY], twice: [KEY]\n"


def test_a_worker_setup_prints_only_names_and_can_be_pickled():
    setup = WorkerSetup(factory=None, secrets={"KEY": "sk-12345678"}, fingerprint="f")
    assert "sk-12345678" not in f"{setup!r} {setup}"
    assert pickle.loads(pickle.dumps(setup)) == setup
