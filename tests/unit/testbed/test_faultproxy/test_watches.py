"""Watches and followed logs pass through as they come, and fail exactly where a rule says so."""

import http.client
import json
import socket
import ssl
from collections.abc import Callable

import pytest

from testbed.faultproxy import DropEvents, FaultProxy, Freeze, Match, MatchEvents, ReorderEvents, SendGone
from tests.unit.testbed.test_faultproxy.api_server import DEADLINE, ApiServer

WATCH = "/api/v1/namespaces/team/pods?watch=true"
ESTABLISHED = 1


def event(name: str, event_type: str = "ADDED") -> bytes:
    metadata = {"namespace": "team", "name": name}
    return json.dumps({"type": event_type, "object": {"metadata": metadata}}).encode() + b"\n"


@pytest.fixture
def watch(api_server: ApiServer, client: http.client.HTTPSConnection) -> http.client.HTTPResponse:
    """A watch that is open all the way, although no event has come yet."""
    client.request("GET", WATCH, headers={"Accept-Encoding": "gzip"})
    response = client.getresponse()
    api_server.wait_streams(1)
    return response


def test_events_pass_at_once_and_unchanged(
    api_server: ApiServer, proxy: FaultProxy, watch: http.client.HTTPResponse
) -> None:
    assert (watch.status, watch.headers["Audit-Id"]) == (200, "audit-2")
    assert api_server.received[0].headers["Accept-Encoding"] == "identity"
    assert proxy.calls == [("watch", "pods", "team", "", "", 200, 200)]

    large = event("x" * 1_500_000)
    for line in (event("a"), large, event("b")):
        api_server.emit(line)
        assert watch.readline() == line
    api_server.emit(b"no line end")
    api_server.emit(None)

    assert watch.read() == b"no line end"


def test_a_rule_reaches_a_watch_that_is_already_open(
    api_server: ApiServer, proxy: FaultProxy, watch: http.client.HTTPResponse
) -> None:
    rule = proxy.inject(MatchEvents(resource="pods", namespace="team", nth=2), DropEvents())
    proxy.inject(MatchEvents(resource="nodes", times=None), DropEvents())

    for name in "abc":
        api_server.emit(event(name))
    api_server.emit(None)

    assert watch.read() == event("a") + event("c")
    assert rule.fired == 1


def test_clearing_sends_what_waits_for_company(
    api_server: ApiServer, proxy: FaultProxy, watch: http.client.HTTPResponse
) -> None:
    rule = proxy.inject(MatchEvents(type="ADDED"), ReorderEvents(window=3))
    api_server.emit(event("a") + event("b") + event("c", "MODIFIED"))
    assert watch.readline() == event("c", "MODIFIED")

    proxy.clear()

    assert [watch.readline(), watch.readline()] == [event("b"), event("a")]
    assert rule.fired == 1


def test_gone_ends_the_watch(api_server: ApiServer, proxy: FaultProxy, watch: http.client.HTTPResponse) -> None:
    rule = proxy.inject(MatchEvents(nth=2), SendGone())

    api_server.emit(event("a") + event("b") + event("c"))

    first, last = watch.read().splitlines(keepends=True)
    assert first == event("a")
    assert json.loads(last)["object"]["code"] == 410
    assert rule.fired == 1
    api_server.wait_streams(0)


def test_a_watch_can_be_gone_from_the_start(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    proxy.inject(Match(verb="watch", resource="pods"), SendGone())
    client.request("GET", WATCH)
    response = client.getresponse()

    sent = json.loads(response.read())

    assert (response.status, sent["type"]) == (200, "ERROR")
    assert (sent["object"]["code"], sent["object"]["reason"]) == (410, "Expired")
    assert api_server.received == []


def test_a_frozen_watch_goes_silent_on_an_open_connection(
    api_server: ApiServer,
    proxy: FaultProxy,
    client: http.client.HTTPSConnection,
    watch: http.client.HTTPResponse,
) -> None:
    rule = proxy.inject(MatchEvents(nth=2), Freeze())
    api_server.emit(event("a"))
    assert watch.readline() == event("a")
    api_server.emit(event("b") + event("c"))
    rule.wait_fired()

    client.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.sock.recv(1)
    assert client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED
    api_server.wait_streams(1)

    proxy.clear()
    client.sock.settimeout(DEADLINE)
    assert client.sock.recv(1) == b""
    api_server.wait_streams(0)


def test_a_watch_ends_upstream_when_its_client_leaves(
    api_server: ApiServer, client: http.client.HTTPSConnection, watch: http.client.HTTPResponse
) -> None:
    watch.close()
    client.close()

    api_server.wait_streams(0)


def test_a_watch_cut_upstream_is_cut_for_the_client(api_server: ApiServer, watch: http.client.HTTPResponse) -> None:
    api_server.emit(event("a"))
    assert watch.readline() == event("a")

    api_server.break_streams()

    with pytest.raises((ConnectionError, ssl.SSLEOFError, http.client.IncompleteRead)):
        watch.read()


def test_a_followed_log_passes_chunk_by_chunk(api_server: ApiServer, client: http.client.HTTPSConnection) -> None:
    client.request("GET", "/api/v1/namespaces/team/pods/web/log?follow=true")
    response = client.getresponse()
    api_server.wait_streams(1)

    api_server.emit(b"half a li")
    assert response.read1() == b"half a li"
    api_server.emit(None)
    assert response.read() == b""


def test_leaving_the_proxy_ends_open_watches(
    api_server: ApiServer,
    make_proxy: Callable[[str], FaultProxy],
    connect: Callable[[FaultProxy], http.client.HTTPSConnection],
) -> None:
    with make_proxy(api_server.url) as proxy:
        client = connect(proxy)
        client.request("GET", WATCH)
        watch = client.getresponse()

    with pytest.raises((ConnectionError, ssl.SSLEOFError, http.client.IncompleteRead)):
        watch.read()
    api_server.wait_streams(0)
