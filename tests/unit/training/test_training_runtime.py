"""The library of training programs: requests over real sockets, each id one checkpoint, and bounds on what is read."""

import ast
import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kubedl import training_runtime
from kubedl.training.elastic import asking
from kubedl.training_runtime import Checkpoints

FILE = Path(training_runtime.__file__)
ASK = "/kubedl/v1/checkpoint?id="


@pytest.fixture
def checkpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkpoints]:
    """Of a program that never waits between two."""
    monkeypatch.setattr(training_runtime, "PAUSE", 0.0)
    made = Checkpoints(total=100, port=0)
    yield made
    made.close()


def call(checkpoints: Checkpoints, method: str, path: str, **headers: str) -> tuple[int, bytes]:
    """Send one request; returns status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", checkpoints.port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def ask(checkpoints: Checkpoints, number: int) -> int:
    """Ask for a checkpoint."""
    return call(checkpoints, "POST", f"{ASK}0b7d21aa-{number}")[0]


def state(checkpoints: Checkpoints) -> dict[str, Any]:
    """What the program says."""
    status, body = call(checkpoints, "GET", "/kubedl/v1/state")
    assert status == 200
    found: dict[str, Any] = json.loads(body)
    return found


def raw(checkpoints: Checkpoints, data: bytes) -> bytes:
    """Send bytes; returns all that is answered."""
    with socket.create_connection(("127.0.0.1", checkpoints.port), timeout=60) as connection:
        connection.sendall(data)
        return connection.recv(4096)


def test_a_request_is_confirmed_when_the_program_has_saved(checkpoints: Checkpoints) -> None:
    """Not before."""
    checkpoints.reached(7)
    assert not checkpoints.wanted()
    assert ask(checkpoints, 1) == 202
    assert state(checkpoints) == {"step": 7, "total": 100, "durableStep": 0, "confirmed": ""}
    assert checkpoints.wanted()
    checkpoints.saved(8)
    assert state(checkpoints) == {"step": 7, "total": 100, "durableStep": 8, "confirmed": "0b7d21aa-1"}


def test_the_same_id_is_one_checkpoint_and_an_older_one_none(checkpoints: Checkpoints) -> None:
    """A request whose answer was lost is sent again, and one may be late."""
    for number in (2, 2):
        assert ask(checkpoints, number) == 202
    assert checkpoints.wanted()
    checkpoints.saved(1)
    for number in (2, 1):
        assert ask(checkpoints, number) == 202
        assert not checkpoints.wanted()
    ask(checkpoints, 3)
    assert checkpoints.wanted()


def test_who_asks_while_another_checkpoint_is_written_gets_one_of_its_own(checkpoints: Checkpoints) -> None:
    """The one that is being written may be older than its request."""
    checkpoints.reached(5)
    ask(checkpoints, 1)
    assert checkpoints.wanted()
    checkpoints.reached(9)
    ask(checkpoints, 2)
    checkpoints.saved(5)
    assert state(checkpoints)["confirmed"] == ""
    assert checkpoints.wanted()
    checkpoints.saved(9)
    assert state(checkpoints)["confirmed"] == "0b7d21aa-2"


def test_a_checkpoint_of_an_earlier_step_confirms_nothing(checkpoints: Checkpoints) -> None:
    """The steps after it would be lost."""
    checkpoints.reached(10)
    ask(checkpoints, 1)
    assert checkpoints.wanted()
    checkpoints.saved(4)
    assert (state(checkpoints)["durableStep"], state(checkpoints)["confirmed"]) == (4, "")
    assert checkpoints.wanted()


def test_a_checkpoint_that_nobody_asked_for_is_durable_too(checkpoints: Checkpoints) -> None:
    checkpoints.saved(20)
    checkpoints.saved(10)
    assert (state(checkpoints)["durableStep"], state(checkpoints)["confirmed"]) == (20, "")


def test_requests_cannot_keep_a_program_from_training() -> None:
    """Half a minute lies between two checkpoints that were asked for."""
    checkpoints = Checkpoints(port=0)
    ask(checkpoints, 1)
    assert checkpoints.wanted()
    checkpoints.saved(1)
    assert ask(checkpoints, 2) == 202
    assert not checkpoints.wanted()
    checkpoints.close()


@pytest.mark.parametrize("id_", ["", "x", "0b7d21aa-", "a-0", "a--", "a-1e3", "a-²", "a" * 70 + "-1", "a-1234567890"])
def test_an_id_that_is_none_is_refused(checkpoints: Checkpoints, id_: str) -> None:
    assert raw(checkpoints, f"POST {ASK}{id_} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 404")
    assert not checkpoints.wanted()


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET " + b"/" * 10_000 + b" HTTP/1.1\r\n\r\n",
        b"\xff\xfe\x00\r\n\r\n",
        f"DELETE {ASK}a-1 HTTP/1.1\r\n\r\n".encode(),
    ],
    ids=["empty", "elsewhere", "too long", "no text", "another method"],
)
def test_anything_else_is_refused_and_the_next_one_answered(checkpoints: Checkpoints, data: bytes) -> None:
    try:
        assert raw(checkpoints, data).startswith(b"HTTP/1.1 404")
    except ConnectionResetError:  # what was not read is thrown away
        assert len(data) > training_runtime.LONGEST_REQUEST
    assert state(checkpoints)["total"] == 100


def idle(checkpoints: Checkpoints, stack: ExitStack, number: int) -> None:
    """Clients that connect, and send too little."""
    for _ in range(number):
        one = stack.enter_context(socket.create_connection(("127.0.0.1", checkpoints.port)))
        one.sendall(b"GET /kube")


def test_clients_that_send_nothing_delay_nobody(checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody in the cluster can connect."""
    monkeypatch.setattr(training_runtime, "SECONDS_TO_SEND", 60.0)
    with ExitStack() as stack:
        idle(checkpoints, stack, training_runtime.AT_ONCE - 1)
        assert state(checkpoints)["step"] == 0


def test_as_many_as_there_are_turns_delay_others_for_a_moment(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_runtime, "SECONDS_TO_SEND", 0.1)
    with ExitStack() as stack:
        idle(checkpoints, stack, 2 * training_runtime.AT_ONCE)
        assert state(checkpoints)["step"] == 0


def test_turns_are_shorter_than_the_patience_of_the_operator() -> None:
    """It sends two requests in that time."""
    assert 2 * training_runtime.SECONDS_TO_SEND < asking.SECONDS


def test_nobody_beyond_the_machine_is_answered_without_a_token() -> None:
    with pytest.raises(ValueError, match="give a token"):
        Checkpoints(host="0.0.0.0", port=0)  # noqa: S104 - refused
    checkpoints = Checkpoints(host="0.0.0.0", port=0, token="secret")  # noqa: S104, S106 - closed below
    for header in ({}, {"Authorization": "Bearer secre"}, {"Authorization": "Bearer s\u00e9cret"}):
        assert call(checkpoints, "POST", f"{ASK}a-1", **header)[0] == 401
    assert not checkpoints.wanted()
    assert call(checkpoints, "POST", f"{ASK}a-1", Authorization="Bearer secret")[0] == 202
    assert checkpoints.wanted()
    checkpoints.close()


def test_a_port_is_free_again_after_the_end() -> None:
    first = Checkpoints(port=0)
    assert state(first)["step"] == 0
    first.close()
    Checkpoints(port=first.port).close()


def test_it_is_one_small_file_of_the_standard_library_that_old_interpreters_read() -> None:
    """So it can be copied into an image."""
    text = FILE.read_text()
    assert len(text.splitlines()) < 110
    tree = ast.parse(text, feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {one.name for node in imports if isinstance(node, ast.Import) for one in node.names}
    names |= {node.module or "" for node in imports if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names | {"__future__"}


def test_it_is_imported_without_anything_else() -> None:
    """Neither the rest of kubedl nor its dependencies."""
    program = "import sys, kubedl.training_runtime; print([name for name in sys.modules if name.startswith('kubedl.')])"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(FILE.parents[1])!r}); {program}"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert printed.stdout == "['kubedl.training_runtime']\n"
