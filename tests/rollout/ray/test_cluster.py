"""Joining a cluster: the user's keys stay out of it, and only the head of a cluster is accepted."""

import contextlib
import os

import anyio
import pytest

pytest.importorskip("ray", reason="needs the extra `ray`")

from skillsv.errors import SettingsError, Unavailable
from skillsv.rollout.ray.cluster import _check_head, _without_keys


def test_a_cluster_that_is_started_here_inherits_no_keys(monkeypatch):
    monkeypatch.setenv("TOY_KEY", "secret")
    monkeypatch.setenv("LC_TOY", "kept")
    before = dict(os.environ)
    with contextlib.suppress(KeyError), _without_keys():
        assert {"PATH", "LC_TOY"} <= set(os.environ)
        os.environ["TOY_KEY"]
        pytest.fail("the key is there")
    assert dict(os.environ) == before


async def check_server(answer: bytes | None) -> None:
    async def serve(stream):
        async with stream:
            await stream.receive()
            if answer is None:
                return
            await stream.send(answer)
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    unavailable = None
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        try:
            await _check_head(f"127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}")
        except Unavailable as error:
            unavailable = error
        group.cancel_scope.cancel()
    if unavailable is not None:
        raise unavailable


def test_a_reply_with_a_settings_frame_is_accepted():
    assert anyio.run(check_server, bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))) is None


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail\r\n", b"x", None])
def test_another_server_at_the_address_is_not_a_cluster(answer):
    with pytest.raises(Unavailable, match="no Ray cluster answers") as raised:
        anyio.run(check_server, answer)
    assert raised.value.exit_code == 5


@pytest.mark.parametrize("address", [":6379", "host:", "host:port", "::"])
def test_an_invalid_address_is_a_settings_error(address):
    with pytest.raises(SettingsError, match="not an address"):
        anyio.run(_check_head, address)
