"""Connections that the kernel asks after, on more than one operating system."""

import importlib
import socket

import pytest

from kubedl.kube import keep_alive

IDLE = socket.TCP_KEEPIDLE


@pytest.mark.parametrize("name", ["TCP_KEEPIDLE", "TCP_KEEPALIVE"])
def test_a_silent_peer_is_asked_after_whatever_the_system_calls_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As on macOS, which has another name for it: the module must be importable there."""
    monkeypatch.delattr(socket, "TCP_KEEPIDLE")
    monkeypatch.setattr(socket, name, IDLE, raising=False)
    module = importlib.reload(keep_alive)
    with socket.socket() as connected:
        module.keep_alive(connected)
        assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        found = [connected.getsockopt(socket.IPPROTO_TCP, option) for option in (IDLE, socket.TCP_KEEPINTVL)]
    assert found == [30, 10]
