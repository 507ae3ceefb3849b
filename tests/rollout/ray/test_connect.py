"""Before a cluster is joined: keys stay out of it, and what answers has to be a head."""

import contextlib
import os

import anyio
import pytest

pytest.importorskip("ray", reason="needs the extra `ray`")

from skillsv.errors import SettingsError, Unavailable
from skillsv.rollout.ray.cluster import _knock, _without_keys


def test_a_cluster_that_is_started_here_inherits_no_keys(monkeypatch):
    monkeypatch.setenv("TOY_KEY", "secret")
    monkeypatch.setenv("LC_TOY", "kept")
    before = dict(os.environ)
    with contextlib.suppress(KeyError), _without_keys():
        assert {"PATH", "LC_TOY"} <= set(os.environ)
        os.environ["TOY_KEY"]
        pytest.fail("the key is there")
    assert dict(os.environ) == before


async def knock_at(answer: bytes | None) -> None:
    async def serve(stream):
        async with stream:
            await stream.receive()
            if answer is None:
                return
            await stream.send(answer)
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    trouble = None
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        try:
            await _knock(f"127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}")
        except Unavailable as error:
            trouble = error
        group.cancel_scope.cancel()
    if trouble is not None:
        raise trouble


def test_a_head_answers_with_settings():
    anyio.run(knock_at, bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail\r\n", b"x", None])
def test_whoever_else_listens_there_is_no_cluster(answer):
    with pytest.raises(Unavailable, match="no Ray cluster answers") as told:
        anyio.run(knock_at, answer)
    assert told.value.exit_code == 5


@pytest.mark.parametrize("address", [":6379", "host:", "host:port", "::"])
def test_what_is_no_address_is_told(address):
    with pytest.raises(SettingsError, match="not an address"):
        anyio.run(_knock, address)
