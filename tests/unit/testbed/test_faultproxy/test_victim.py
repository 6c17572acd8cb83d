"""A client dies by SIGKILL on its nth write, with the write kept out or let in."""

import http.client
import signal
import subprocess
import sys

import pytest

from testbed.faultproxy import FaultProxy, KillClient, Match
from testbed.faultproxy.kill_client import find_inode
from tests.unit.testbed.test_faultproxy.api_server import DEADLINE, ApiServer
from tests.unit.testbed.test_faultproxy.conftest import Certificates

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 22 1 0 20 4 30 10 -1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 33 1 0 20 4 30 10 -1
"""
TABLE_6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr inode
   0: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F90 01 0:0 0:0 0 0 0 44 1 0 20
"""
WRITER = """
import http.client, ssl, sys
client = http.client.HTTPSConnection(sys.argv[1], context=ssl.create_default_context(cafile=sys.argv[2]))
for number in range(3):
    client.request("GET", "/api/v1/pods")
    client.getresponse().read()
    client.request("POST", "/api/v1/namespaces/team/pods", body="{}")
    client.getresponse().read()
    print("answered", number, flush=True)
"""


def test_finds_the_clients_end_of_the_connection() -> None:
    client, proxy = ("127.0.0.1", 50000), ("127.0.0.1", 8080)

    assert find_inode(TABLE, client, proxy) == 33
    assert find_inode(TABLE, proxy, client) == 22
    assert find_inode(TABLE_6, client, proxy) == 44
    assert find_inode(TABLE, ("127.0.0.1", 50001), proxy) is None


@pytest.mark.parametrize(("after_commit", "committed"), [(False, 1), (True, 2)])
def test_kills_the_client_on_its_second_write(
    api_server: ApiServer,
    proxy: FaultProxy,
    certificates: Certificates,
    after_commit: bool,
    committed: int,
) -> None:
    rule = proxy.inject(Match(verb="write", nth=2), KillClient(after_commit=after_commit))

    writer = subprocess.run(
        [sys.executable, "-c", WRITER, proxy.url.removeprefix("https://"), str(certificates.authority)],
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )

    rule.wait_fired()
    assert (writer.returncode, writer.stdout) == (-signal.SIGKILL, "answered 0\n")
    assert sum(received.method == "POST" for received in api_server.received) == committed
    assert proxy.calls[-1][-2:] == (None, 201 if after_commit else None)


def test_never_kills_its_own_process(proxy: FaultProxy, client: http.client.HTTPSConnection) -> None:
    rule = proxy.inject(Match(), KillClient())

    client.request("POST", "/api/v1/namespaces/team/pods", body=b"{}")
    response = client.getresponse()

    assert response.status == 500
    assert b"start the client as a process of its own" in response.read()
    assert rule.fired == 0
