"""Calls pass through unchanged, and fail exactly where a rule says so."""

import http.client
import json
import socket
import ssl
from collections.abc import Callable

import pytest

from testbed.faultproxy import (
    AnswerAfterCommit,
    AnswerInstead,
    DelayRequest,
    DropAfterCommit,
    FaultProxy,
    Freeze,
    Match,
    RuleNeverFiredError,
)
from testbed.waiting import until
from tests.unit.testbed.test_faultproxy.api_server import DEADLINE, ApiServer

PODS = "/api/v1/namespaces/team/pods"
ESTABLISHED = 1


def create_pod(client: http.client.HTTPSConnection, path: str = PODS) -> http.client.HTTPResponse:
    client.request("POST", path, body=b'{"kind":"Pod"}', headers={"Content-Type": "application/json"})
    return client.getresponse()


def status_of(response: http.client.HTTPResponse) -> dict[str, object]:
    status = json.loads(response.read())
    assert isinstance(status, dict)
    return status


def is_established(client: http.client.HTTPSConnection) -> bool:
    """Whether neither end has sent a FIN or a reset."""
    return client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


def test_a_call_and_its_answer_pass_through(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    target = f"{PODS}/a%2Fb?labelSelector=x%20in%20%28y%29"
    body = b"x" * 2_000_000
    client.request(
        "PATCH", target, body, {"X-Mine": "1", "Connection": "keep-alive, X-Hop", "X-Hop": "1", "TE": "gzip"}
    )
    response = client.getresponse()

    assert (response.status, response.read()) == (201, b'{"path": "%s/a/b"}' % PODS.encode())
    assert (response.headers["Audit-Id"], response.headers["Retry-After"]) == ("audit-1", "7")
    assert response.headers.get_all("Warning") == ["first", "second"]
    assert "Keep-Alive" not in response.headers
    (received,) = api_server.received
    assert (received.method, received.target, received.body) == ("PATCH", target, body)
    assert received.headers["X-Mine"] == "1"
    assert not {"X-Hop", "TE", "Accept", "User-Agent"} & set(received.headers)
    assert proxy.calls == [("patch", "pods", "team", "a/b", "", 201, 201)]


def test_a_call_without_a_token_shows_the_certificate(
    api_server: ApiServer, client: http.client.HTTPSConnection
) -> None:
    create_pod(client).read()
    client.request("GET", PODS, headers={"Authorization": "Bearer secret"})
    client.getresponse().read()

    certified, with_token = api_server.received
    assert (certified.certificate_name, certified.headers.get("Authorization")) == ("client", None)
    assert (with_token.certificate_name, with_token.headers["Authorization"]) == (None, "Bearer secret")


def test_http2_is_not_offered(proxy: FaultProxy, client: http.client.HTTPSConnection) -> None:
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols(["h2", "http/1.1"])
    address = (client.host, client.port)
    with socket.create_connection(address) as plain, tls.wrap_socket(plain) as secure:
        assert secure.selected_alpn_protocol() == "http/1.1"


def test_answers_instead_on_the_nth_call(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    slow_down = proxy.inject(Match(verb="create", resource="pods", nth=2), AnswerInstead(429, retry_after=3))
    broken = proxy.inject(Match(verb="create", resource="pods", nth=3), AnswerInstead(500))

    responses = []
    for _ in range(4):
        response = create_pod(client)
        responses.append((response.status, response.headers["Retry-After"], status_of(response).get("reason")))

    assert responses == [
        (201, "7", None),
        (429, "3", "TooManyRequests"),
        (500, None, "InternalError"),
        (201, "7", None),
    ]
    assert (slow_down.fired, broken.fired) == (1, 1)
    assert [call[-2:] for call in proxy.calls] == [(201, 201), (429, None), (500, None), (201, 201)]
    assert len(api_server.received) == 2


@pytest.mark.parametrize(("status", "reason"), [(410, "Expired"), (429, "TooManyRequests")])
def test_answers_with_a_status_object(
    proxy: FaultProxy, client: http.client.HTTPSConnection, status: int, reason: str
) -> None:
    proxy.inject(Match(), AnswerInstead(status))

    response = create_pod(client)

    assert (response.status, response.headers["Content-Type"]) == (status, "application/json; charset=utf-8")
    assert response.headers["Retry-After"] == ("1" if status == 429 else None)
    answer = status_of(response)
    assert (answer["kind"], answer["code"], answer["reason"]) == ("Status", status, reason)


def test_answers_an_error_after_the_commit(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    rule = proxy.inject(Match(verb="write"), AnswerAfterCommit(504))

    response = create_pod(client)

    assert (response.status, status_of(response)["reason"]) == (504, "Timeout")
    assert len(api_server.received) == 1
    assert proxy.calls == [("create", "pods", "team", "", "", 504, 201)]
    rule.wait_fired(deadline=0)


def test_a_refused_write_is_no_commit(proxy: FaultProxy, client: http.client.HTTPSConnection) -> None:
    rule = proxy.inject(Match(verb="write"), AnswerAfterCommit(504))

    assert create_pod(client, f"{PODS}/refused").status == 409
    with pytest.raises(RuleNeverFiredError, match="whether the API server accepted"):
        rule.wait_fired(deadline=0)


def test_drops_the_connection_after_the_commit(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    proxy.inject(Match(verb="write"), DropAfterCommit())

    with pytest.raises((ConnectionError, ssl.SSLEOFError)):
        create_pod(client)

    assert len(api_server.received) == 1
    assert [call[-2:] for call in proxy.calls] == [(None, 201)]


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_frozen_call_times_out_on_an_open_connection(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection, after_commit: bool
) -> None:
    rule = proxy.inject(Match(verb="create"), Freeze(after_commit=after_commit))
    client.request("POST", PODS, body=b"{}")
    rule.wait_fired()

    client.sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.sock.recv(1)
    assert is_established(client)
    assert len(api_server.received) == int(after_commit)

    proxy.clear()
    client.sock.settimeout(DEADLINE)
    with pytest.raises((ConnectionError, ssl.SSLEOFError)):
        client.getresponse()


def test_a_delayed_call_goes_on_when_cleared(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    rule = proxy.inject(Match(verb="create"), DelayRequest(3600))
    client.request("POST", PODS, body=b"{}")
    rule.wait_fired()
    assert api_server.received == []

    proxy.clear()

    assert client.getresponse().status == 201


def test_a_delayed_call_goes_on_by_itself(proxy: FaultProxy, client: http.client.HTTPSConnection) -> None:
    proxy.inject(Match(verb="create"), DelayRequest(0.01))

    assert create_pod(client).status == 201


def test_a_delayed_write_arrives_after_its_client_gave_up(
    api_server: ApiServer,
    proxy: FaultProxy,
    connect: Callable[[FaultProxy], http.client.HTTPSConnection],
) -> None:
    rule = proxy.inject(Match(verb="create"), DelayRequest(3600))
    quitter = connect(proxy)
    quitter.request("POST", PODS, body=b"{}")
    rule.wait_fired()
    quitter.close()
    # The proxy has seen the end of the first connection once it has answered on a second.
    patient = connect(proxy)
    patient.request("GET", PODS)
    patient.getresponse().read()

    proxy.clear()

    api_server.wait_received(2)
    assert [received.method for received in api_server.received] == ["GET", "POST"]
    committed = ("create", "pods", "team", "", "", None, 201)
    until("the write on record", lambda: committed in proxy.calls, deadline=DEADLINE, interval=0.01)


def test_upgrades_are_refused(api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection) -> None:
    client.request("POST", f"{PODS}/web/exec", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"})
    response = client.getresponse()

    assert response.status == 501
    assert "use the API server's own address" in str(status_of(response)["message"])
    assert api_server.received == []
    assert proxy.calls == [("create", "pods", "team", "web", "exec", 501, None)]


def test_a_broken_write_is_sent_once(
    api_server: ApiServer, proxy: FaultProxy, client: http.client.HTTPSConnection
) -> None:
    client.request("PUT", f"{PODS}/broken", body=b"{}")
    with pytest.raises((ConnectionError, ssl.SSLEOFError)):
        client.getresponse()

    assert len(api_server.received) == 1
    assert [call[-2:] for call in proxy.calls] == [(None, None)]


def test_says_when_the_api_server_cannot_be_reached(
    make_proxy: Callable[[str], FaultProxy], connect: Callable[[FaultProxy], http.client.HTTPSConnection]
) -> None:
    with make_proxy("https://127.0.0.1:1") as proxy:
        response = create_pod(connect(proxy))

        assert response.status == 502
        assert "check that the API server runs" in str(status_of(response)["message"])
