"""What a worker prints never holds a forwarded value."""

import io
import pickle

from skillsv.rollout.ray.worker import Opening
from skillsv.sandbox.redaction import RedactingStream


def test_values_become_names_and_short_ones_stay():
    stream = io.StringIO()
    with_names = RedactingStream(stream, {"KEY": "sk-12345678", "LEVEL": "1"})
    print("1 key is sk-12345678, twice: sk-12345678", file=with_names, flush=True)
    assert stream.getvalue() == "1 key is [KEY], twice: [KEY]\n"


def test_an_opening_shows_names_alone_and_survives_the_journey():
    opening = Opening(recipe=None, secrets={"KEY": "sk-12345678"}, fingerprint="f")
    assert "sk-12345678" not in f"{opening!r} {opening}"
    assert pickle.loads(pickle.dumps(opening)) == opening
